"""Models for users: opened by name, loaded when first needed, each only once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from kgprobe.base.arguments import whole_number
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.api.spending import MOST_REQUESTS, Spending
from kgprobe.models.on_ray.workers import WorkerModel, Workers
from kgprobe.models.spec import load_scoring_model, load_tokenizer, wrap_scorer
from kgprobe.models.spec_forms import (
    LocalOptions,
    absolute_spec,
    check_exists,
    check_local,
    is_api,
    is_vllm,
    no_weights,
)

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kgprobe.models.api.cache import AnswerCache
    from kgprobe.models.api.spending import ApiOptions
    from kgprobe.models.generating.generator import Generator
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.models.scoring.scorer import Scorer

# Number of cached continuations, some 200 bytes each.
REMEMBERED = 1_000_000
# Modules that loading a model imports; each takes a second or more.
_HEAVY = ("torch", "transformers", "torch.distributed.tensor", "kgprobe.models.scoring.scorer")


class Model(AbstractContextManager["Model"]):
    """A language model that scores or answers.

    >>> model = load_model("demo")
    >>> model
    Model('demo')
    >>> (scored,) = model.scorer().score(["The capital of Japan is"], [["Tokyo", "Paris"]])
    >>> scored.values.round(1).tolist()
    [-1.4, -9.0]
    >>> (answer,) = model.generator().answer([Request("The capital of Japan is", max_tokens=3)])
    >>> answer.text
    'Tokyo, and'

    Attributes:
        name: its spec.
        local: options for loading; None if the model is not loaded from files.
        batch_api: True if its answers come from a batch API, which gives no probabilities.
    """

    def __init__(
        self,
        name: str,
        *,
        scorer: "TextScorer | None" = None,
        open_scorer: "Callable[[], TextScorer] | None" = None,
        generator: "Generator | None" = None,
        local: LocalOptions | None = None,
        close: Callable[[], None] = lambda: None,
        batch_api: bool = False,
    ) -> None:
        """Create a model; users call :func:`load_model` or :func:`wrap_model`.

        Args:
            name: its spec.
            scorer: the scorer, if already loaded.
            open_scorer: loads the scorer on first use; with neither, the model gives no probabilities.
            generator: the generator; None to generate with the scorer's model.
            local: see the attributes.
            close: releases resources.
            batch_api: see the attributes.
        """
        self.name = name
        self.local = local
        self._open_scorer = open_scorer
        self._scorer = scorer
        self._generator = generator
        self._close = close
        self.batch_api = batch_api

    def scorer(self) -> "TextScorer":
        """Return the scorer; the same object each time.

        Cost: on first use, the model is loaded and checked; for an API, its server is checked.

        Raises:
            ArgumentError: the answers come from a batch API.
            KgprobeError: the API gives no reliable probabilities, or the model cannot be loaded.
        """
        if self._scorer is None:
            if self.batch_api:
                raise ArgumentError(
                    "batch_api",
                    "returns texts only; this needs log-probabilities, which an API returns by direct requests. Leave"
                    " out `batch_api`, or use a probe that reads answers (questions, generation, labels).",
                )
            if self._open_scorer is None:
                raise no_weights(self.name)
            self._scorer = self._open_scorer()
        return self._scorer

    def local_scorer(self) -> "Scorer":
        """Return the scorer with its weights, for other computations with them.

        Raises:
            KgprobeError: the model is behind an API, computed by vLLM or on Ray workers, or it cannot be loaded.
        """
        from kgprobe.models.on_ray.scorer import WorkerScorer
        from kgprobe.models.scoring.scorer import Scorer

        scorer = None if is_api(self.name) or is_vllm(self.name) else self.scorer()
        if isinstance(scorer, WorkerScorer):
            raise KgprobeError(f"This needs the weights of {self.name} in this process; open the model without `ray`.")
        if not isinstance(scorer, Scorer):
            raise no_weights(self.name)
        return scorer

    def generator(self) -> "Generator":
        """Return the generator; the same object each time, with the same weights as the scorer.

        Cost: as of :meth:`scorer`; nothing for an API.

        Raises:
            KgprobeError: the model cannot be loaded.
        """
        if self._generator is None:
            self._generator = self._make_generator()
        return self._generator

    def _make_generator(self) -> "Generator":
        from kgprobe.models.generating.local import LocalGenerator
        from kgprobe.models.on_ray.scorer import WorkerScorer
        from kgprobe.models.vllm_engine.generator import VllmGenerator
        from kgprobe.models.vllm_engine.scorer import VllmScorer

        scorer = None if is_api(self.name) else self.scorer()
        if isinstance(scorer, WorkerScorer):
            return scorer.generator()
        if isinstance(scorer, VllmScorer):
            return VllmGenerator(scorer)
        return LocalGenerator(self.local_scorer())

    @property
    def scores(self) -> bool:
        """True if the model gives probabilities and counts tokens."""
        return self._scorer is not None or self._open_scorer is not None

    @property
    def computes_elsewhere(self) -> bool:
        """True if its scorer is loaded, and computes on a GPU or in other processes."""
        return self._scorer is not None and not self._scorer.on_host

    def refresh(self) -> bool:
        """Forget all results of other weights; call it before a measurement or a run begins.

        Returns:
            True if the weights have changed; see :meth:`~kgprobe.models.scoring.scorer.Scorer.refresh`.
        """
        return self._scorer is not None and self._scorer.refresh()

    def close(self) -> None:
        """Close the answer cache and end the Ray workers, if they were opened for this model."""
        self._close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Model({self.name!r})"


def load_model(
    spec: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    batch_tokens: int | None = None,
    bos: bool | None = None,
    api: "ApiOptions | None" = None,
    spending: Spending | None = None,
    cache: "AnswerCache | None" = None,
    remembered: int = REMEMBERED,
    ray: int | None = None,
) -> Model:
    """Return the model of that name, on this machine, on Ray workers or behind an API.

    >>> load_model("demo").scorer().describe()["architecture"]
    'Gemma3ForCausalLM'
    >>> with load_model("openai:qwen@http://localhost:8000/v1") as model:
    ...     model.generator().describe()["url"]
    'http://localhost:8000/v1'

    Cost: nothing yet; a model on this machine is loaded on first use.

    Args:
        spec: ``demo``, ``hf:OWNER/NAME``, ``hf:./FOLDER``, ``vllm:NAME,OPTION=VALUE,…``,
            ``openai:NAME`` or ``openai:NAME@URL``.
        device, dtype, revision, batch_tokens, bos: see :func:`~kgprobe.models.spec.load_scorer`; not used for an API.
        api: options for the API; None for the defaults.
        spending: budget for models behind an API, which several can share; None for none.
        cache: cache of API answers, which stays open; None for the user's own file, closed with the model, see
            :func:`~kgprobe.models.api.cache.answer_cache_path`.
        remembered: number of continuations whose log-probabilities are cached.
        ray: number of Ray workers, each with its own copy of the model, that share the texts of each call; on the
            cluster at ``RAY_ADDRESS`` or on this machine. The same results as with None, in this process. End them
            with :meth:`Model.close`.

    Raises:
        UnknownNameError: the form of the spec is unknown.
        ArgumentError: ``ray`` is given for an API.
        KgprobeError: a key or prices are missing; an address is invalid; answers cannot be cached; Ray is not
            installed, or its cluster does not answer.
    """
    if is_api(spec):
        if ray is not None:
            raise _no_workers(spec, ray)
        return _behind_api(spec, api, spending, cache)
    spec = absolute_spec(spec)
    check_local(spec, revision)
    local = LocalOptions(device, dtype, batch_tokens, revision)
    workers = None if ray is None else Workers(whole_number("ray", ray), open_in_worker)
    options = {**asdict(local), "bos": bos, "remembered": remembered, "workers": workers}
    close = (lambda: None) if workers is None else workers.close
    return Model(spec, open_scorer=partial(load_scoring_model, spec, **options), local=local, close=close)


def open_in_worker(spec: str, options: Mapping[str, Any]) -> WorkerModel:
    """Return the model of that name for a Ray worker, see :class:`~kgprobe.models.on_ray.workers.Workers`."""
    model = Model(spec, open_scorer=partial(load_scoring_model, spec, **options))
    return WorkerModel(model.scorer, model.generator)


def wrap_model(
    net: "PreTrainedModel | PeftModel",
    tokenizer: "PreTrainedTokenizerBase",
    *,
    name: str | None = None,
    bos: bool | None = None,
    remembered: int = REMEMBERED,
) -> Model:
    """Return a model around weights in memory, see :func:`~kgprobe.models.spec.wrap_scorer`.

    >>> model = wrap_model(net, tokenizer, name="step 100")
    >>> model.refresh()
    False
    >>> with torch.no_grad():
    ...     _ = next(net.parameters()).add_(0.01)
    >>> model.refresh()
    True

    Cost: the check of the methods through it.
    """
    scorer = wrap_scorer(net, tokenizer, name=name, bos=bos, remembered=remembered)
    return Model(scorer.name, scorer=scorer)


@contextmanager
def importing_libraries() -> Iterator[None]:
    """Import the libraries of models on this machine in a thread, while the block waits for something else."""
    stopped = Event()

    def import_all() -> None:
        for name in _HEAVY:
            # The caller's own import reports errors.
            with suppress(Exception):
                _ = stopped.is_set() or import_module(name)

    thread = Thread(target=import_all)
    thread.start()
    try:
        yield
    except BaseException:
        stopped.set()
        raise
    finally:
        thread.join()


class Models(AbstractContextManager["Models"]):
    """Models by spec, each opened once.

    >>> with Models(spending=Spending(max_tokens=100_000)) as models:
    ...     models.open("demo") is models.open("demo")
    True

    Attributes:
        local: default options for models on this machine.
        spending: use and common budget of the models behind APIs.
    """

    def __init__(
        self,
        *,
        local: LocalOptions | None = None,
        api: "ApiOptions | None" = None,
        spending: Spending | None = None,
        cache: "AnswerCache | None" = None,
        load: "Callable[..., TextScorer] | None" = None,
        remembered: int = REMEMBERED,
        ray: int | None = None,
    ) -> None:
        """Start without open models; arguments as of :func:`load_model`.

        Args:
            local: default options for models on this machine. Its revision is that of the models under test, see
                :meth:`open_asked`: it belongs to one repository.
            load: loads the scorer of a model on this machine; None for
                :func:`~kgprobe.models.spec.load_scoring_model`.
            ray: number of Ray workers, which all models on this machine share; None for this process.

        Raises:
            KgprobeError: Ray is not installed, or no cluster answers.
        """
        self.spending = spending or Spending()
        self.local = local or LocalOptions()
        self._load = partial(load or load_scoring_model, remembered=remembered)
        self._api = api
        self._cache = cache
        self._models: dict[str, Model] = {}
        self._closing = ExitStack()
        self._ray = ray
        if ray is not None:
            workers = Workers(whole_number("ray", ray), open_in_worker)
            self._closing.callback(workers.close)
            self._load = partial(self._load, workers=workers)

    def open(self, model: Model | str, local: LocalOptions | None = None) -> Model:
        """Return the model of that spec, the same each time; return a :class:`Model` unchanged.

        Args:
            local: options for a model on this machine that is not open yet; None for the defaults.

        Raises:
            ArgumentError: the argument is neither a model nor a spec; a revision is given for a model outside the hub.
            KgprobeError: see :func:`load_model`.
        """
        if isinstance(model, Model):
            return model
        if not isinstance(model, str):
            raise ArgumentError("model", f"is {model!r}; expected a model or its spec, such as 'demo'.")
        spec = absolute_spec(model)
        if spec not in self._models:
            self._models[spec] = self._open_new(spec, local or replace(self.local, revision=None))
        return self._models[spec]

    def open_asked(self, model: Model | str, local: LocalOptions | None = None) -> Model:
        """Return the model under test, see :meth:`open`; with workers, it must be a model that they can load.

        Raises:
            ArgumentError: with workers, the model is behind an API.
            KgprobeError: with workers, the model is an object that they cannot load; or see :meth:`open`.
        """
        opened = self.open(model, local or self.local)
        if self._ray is not None:
            if is_api(opened.name):
                raise _no_workers(opened.name, self._ray)
            if opened is not self._models.get(opened.name) or opened.local is None:
                raise KgprobeError("Workers load the model by its name, so it cannot be a model object; pass its spec.")
        return opened

    def add(self, model: Model) -> None:
        """Use an open model for its name; its owner still closes it."""
        self._models[model.name] = model

    def scorer(self, spec: str) -> "TextScorer":
        """Return the scorer of that model."""
        return self.open(spec).scorer()

    def generator(self, spec: str) -> "Generator":
        """Return the generator of that model."""
        return self.open(spec).generator()

    def asked_together(self, model: Model) -> int | None:
        """Return the number of facts to ask together, as many as possible with a batch API; None for the usual number.

        Args:
            model: the model under test; with a batch API of these models, the batches can also be those of a grader.
        """
        return MOST_REQUESTS if model.batch_api or self.in_batches else None

    def can_draw_ahead(self, asked: Model) -> bool:
        """Return True if the next questions can be drawn during a computation.

        Not for models behind an API, whose requests cost money, nor on the host's processors, which draw the questions.
        """
        return not any(map(is_api, [asked.name, *self._models])) and asked.computes_elsewhere

    @property
    def in_batches(self) -> bool:
        """True if models behind an API answer through its batch API."""
        return self._api is not None and self._api.batch_api

    def check_batch_api(self, asked: Model) -> None:
        """Raise ArgumentError if the answers shall come from a batch API, and no opened model is behind an API."""
        if self.in_batches and not any(map(is_api, [asked.name, *self._models])):
            raise ArgumentError(
                "batch_api",
                "is for models behind an API (openai:NAME or openai:NAME@URL); all models of this call are on this"
                " machine.",
            )

    def refresh(self) -> None:
        """Refresh all models; call it before a measurement or a run begins."""
        for model in self._models.values():
            model.refresh()

    def close(self) -> None:
        """Close the answer cache and end the Ray workers, if they were opened for these models."""
        self._closing.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_new(self, spec: str, local: LocalOptions) -> Model:
        if not is_api(spec):
            check_local(spec, local.revision)
            if self._ray is None:
                check_exists(spec)
            return Model(spec, open_scorer=partial(self._load, spec, **asdict(local)), local=local)
        if local.revision is not None:
            raise ArgumentError("revision", f"is {local.revision!r}; {spec} is behind an API and has no revisions.")
        if self._cache is None:
            self._cache = _own_cache()
            self._closing.callback(self._cache.close)
        return _behind_api(spec, self._api, self.spending, self._cache)


def _no_workers(spec: str, ray: int) -> ArgumentError:
    return ArgumentError(
        "ray", f"is {ray}; {spec} is behind an API, which computes it. Parallel requests to it are `concurrency`."
    )


def _behind_api(spec: str, api: "ApiOptions | None", spending: Spending | None, cache: "AnswerCache | None") -> Model:
    from kgprobe.models.api.address import find_address
    from kgprobe.models.api.generator import ApiGenerator
    from kgprobe.models.api.requests import Asker
    from kgprobe.models.api.scorer import ApiScorer
    from kgprobe.models.api.spending import ApiOptions

    address = find_address(spec)
    options = api or ApiOptions()
    answers = _own_cache() if cache is None else cache
    asker = Asker(address, options, spending=spending, cache=answers)

    def open_scorer() -> ApiScorer:
        tokenizer = None if options.tokenizer is None else load_tokenizer(options.tokenizer)
        return ApiScorer(asker, tokenizer, method=options.scoring_method, tokenizer_name=options.tokenizer)

    close = answers.close if cache is None else lambda: None
    if options.batch_api:
        return Model(spec, generator=ApiGenerator(asker), close=close, batch_api=True)
    return Model(spec, generator=ApiGenerator(asker), open_scorer=open_scorer, close=close)


def _own_cache() -> "AnswerCache":
    from kgprobe.models.api.cache import AnswerCache, answer_cache_path

    return AnswerCache(answer_cache_path())
