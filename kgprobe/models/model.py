"""Models as a user holds them: by name, loaded when first needed, and each only once."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from kgprobe.errors import ArgumentError
from kgprobe.models.api.spending import Spending
from kgprobe.models.loading import load_scoring_model
from kgprobe.models.local_options import LocalOptions
from kgprobe.models.spec import load_tokenizer, wrap_scorer
from kgprobe.models.spec_forms import absolute_spec, check_local, is_api, no_weights

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kgprobe.models.api.cache import AnswerCache
    from kgprobe.models.api.options import ApiOptions
    from kgprobe.models.generating.generator import Generator
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.models.scoring.scorer import Scorer

# Continuations that a model need not be asked about again, some 200 bytes each.
REMEMBERED = 1_000_000


class Model:
    """A language model that can be asked.

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
        local: how it is loaded; None where it is not loaded from files.
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
    ) -> None:
        """Mostly made by :func:`load_model` or :func:`wrap_model`.

        Args:
            name: its spec.
            scorer: what scores, where that is there already.
            open_scorer: loads it, when it is first needed; a model with neither gives no probabilities.
            generator: what answers; None lets the scorer's model answer.
            local: how the scorer is loaded; None where it is not loaded from files.
            close: gives back what it holds.
        """
        self.name = name
        self.local = local
        self._open_scorer = open_scorer
        self._scorer = scorer
        self._generator = generator
        self._close = close

    def scorer(self) -> "TextScorer":
        """What scores; the same each time.

        Cost: the first time, the model is loaded and checked; behind an API, its server is.

        Raises:
            KgprobeError: it is behind an interface that gives no probabilities to rely on, or it cannot be loaded.
        """
        if self._scorer is None:
            if self._open_scorer is None:
                raise no_weights(self.name)
            self._scorer = self._open_scorer()
        return self._scorer

    def local_scorer(self) -> "Scorer":
        """What scores, with the weights that do it, for what else is to be done with them.

        Raises:
            KgprobeError: it is behind an API, or it cannot be loaded.
        """
        from kgprobe.models.scoring.scorer import Scorer

        if is_api(self.name):
            raise no_weights(self.name)
        scorer = self.scorer()
        if not isinstance(scorer, Scorer):
            raise no_weights(self.name)
        return scorer

    def generator(self) -> "Generator":
        """What answers; the same each time, and around the same weights as the scorer.

        Cost: as of :meth:`scorer`; behind an API nothing.

        Raises:
            KgprobeError: it cannot be loaded.
        """
        if self._generator is None:
            from kgprobe.models.generating.local import LocalGenerator

            self._generator = LocalGenerator(self.local_scorer())
        return self._generator

    @property
    def scores(self) -> bool:
        """Whether it gives probabilities, and its tokens can be counted; one behind an API does not."""
        return self._scorer is not None or self._open_scorer is not None

    def refresh(self) -> bool:
        """See whether the weights are still the same; to be called before a measurement or a run begins.

        Returns:
            whether they are others; see :meth:`~kgprobe.models.scoring.scorer.Scorer.refresh`.
        """
        return self._scorer is not None and self._scorer.refresh()

    def close(self) -> None:
        """Close the file of answers, if it was opened for this model."""
        self._close()

    def __enter__(self) -> "Model":
        return self

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
) -> Model:
    """The model of that name, on this machine or behind an API.

    >>> load_model("demo").scorer().describe()["architecture"]
    'Gemma3ForCausalLM'
    >>> with load_model("openai:qwen@http://localhost:8000/v1") as model:
    ...     model.generator().describe()["url"]
    'http://localhost:8000/v1'

    Cost: nothing yet; a model on this machine is loaded when it is first asked.

    Args:
        spec: ``demo``, ``hf:OWNER/NAME``, ``hf:./FOLDER``, ``lm-eval:TYPE,ARGUMENTS``, ``openai:NAME`` or
            ``openai:NAME@URL``.
        device, dtype, revision, batch_tokens, bos: see :func:`~kgprobe.models.spec.load_scorer`; an API has no use for
            them.
        api: how an API is asked; None for the usual.
        spending: the budget for models behind an API, which several can share; None for none.
        cache: where the answers of a model behind an API are kept, which stays open; None for the user's own file, see
            :func:`~kgprobe.models.api.cache.answer_cache_path`, which is closed with the model.
        remembered: how many continuations keep their log-probabilities for when they are scored again.

    Raises:
        UnknownNameError: the spec is of no known form.
        KgprobeError: a key or prices are missing; an address holds what it should not; answers cannot be kept.
    """
    if is_api(spec):
        return _behind_api(spec, api, spending, cache)
    spec = absolute_spec(spec)
    check_local(spec, revision)
    local = LocalOptions(device, dtype, batch_tokens, revision)
    return Model(
        spec,
        open_scorer=partial(load_scoring_model, spec, **asdict(local), bos=bos, remembered=remembered),
        local=local,
    )


def wrap_model(
    net: "PreTrainedModel | PeftModel",
    tokenizer: "PreTrainedTokenizerBase",
    *,
    name: str | None = None,
    bos: bool | None = None,
    remembered: int = REMEMBERED,
) -> Model:
    """A model that is in memory already, say that of a training loop; see :func:`~kgprobe.models.spec.wrap_scorer`.

    >>> model = wrap_model(net, tokenizer, name="step 100")
    >>> model.refresh()
    False
    >>> with torch.no_grad():
    ...     _ = next(net.parameters()).add_(0.01)
    >>> model.refresh()
    True

    Cost: the check of the ways through it.
    """
    scorer = wrap_scorer(net, tokenizer, name=name, bos=bos, remembered=remembered)
    return Model(scorer.name, scorer=scorer)


class Models:
    """Models by their specs, each opened once, whatever it is needed for.

    >>> with Models(spending=Spending(max_tokens=100_000)) as models:
    ...     models.open("demo") is models.open("demo")
    True

    Attributes:
        local: how those on this machine are loaded, where nothing else is said.
        spending: what those behind APIs used, and may use together.
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
    ) -> None:
        """None is opened yet; arguments as of :func:`load_model`.

        Args:
            local: how those on this machine are loaded; None for the usual. A revision is that of one repository: it
                is named where that is opened.
            load: makes the scorer of a model on this machine; None for
                :func:`~kgprobe.models.loading.load_scoring_model`.
        """
        self.spending = spending or Spending()
        self.local = local or LocalOptions()
        self._load = partial(load or load_scoring_model, remembered=remembered)
        self._api = api
        self._cache = cache
        self._models: dict[str, Model] = {}
        self._closing = ExitStack()

    def open(self, model: Model | str, local: LocalOptions | None = None) -> Model:
        """The model of that spec, the same each time; one that is open already, as it is.

        Args:
            local: how it is loaded, if it is on this machine and was not opened before; None as the others are.

        Raises:
            ArgumentError: it is neither; a revision is wanted of what is no repository of the hub.
            KgprobeError: see :func:`load_model`.
        """
        if isinstance(model, Model):
            return model
        if not isinstance(model, str):
            raise ArgumentError("model", f"is {model!r}; a model or its spec is expected, such as 'demo'.")
        spec = absolute_spec(model)
        if spec not in self._models:
            self._models[spec] = self._opened(spec, local or self.local)
        return self._models[spec]

    def add(self, model: Model) -> None:
        """Have a model that was opened elsewhere stand for its name; it stays its owner's to close."""
        self._models[model.name] = model

    def scorer(self, spec: str) -> "TextScorer":
        """What scores by that model."""
        return self.open(spec).scorer()

    def generator(self, spec: str) -> "Generator":
        """What answers by that model."""
        return self.open(spec).generator()

    def refresh(self) -> None:
        """See of each whether its weights are still the same; to be called before a measurement or a run begins."""
        for model in self._models.values():
            model.refresh()

    def close(self) -> None:
        """Close the file of answers, if it was opened for these models."""
        self._closing.close()

    def __enter__(self) -> "Models":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self, spec: str, local: LocalOptions) -> Model:
        if not is_api(spec):
            check_local(spec, local.revision)
            return Model(spec, open_scorer=partial(self._load, spec, **asdict(local)), local=local)
        if local.revision is not None:
            raise ArgumentError("revision", f"is {local.revision!r}; {spec} is behind an API and has no revisions.")
        if self._cache is None:
            self._cache = _own_cache()
            self._closing.callback(self._cache.close)
        return _behind_api(spec, self._api, self.spending, self._cache)


def _behind_api(spec: str, api: "ApiOptions | None", spending: Spending | None, cache: "AnswerCache | None") -> Model:
    from kgprobe.models.api.address import find_address
    from kgprobe.models.api.asking import Asker
    from kgprobe.models.api.generator import ApiGenerator
    from kgprobe.models.api.options import ApiOptions
    from kgprobe.models.api.scorer import ApiScorer

    address = find_address(spec)
    options = api or ApiOptions()
    answers = _own_cache() if cache is None else cache
    asker = Asker(address, options, spending=spending, cache=answers)

    def open_scorer() -> ApiScorer:
        tokenizer = None if options.tokenizer is None else load_tokenizer(options.tokenizer)
        return ApiScorer(asker, tokenizer, way=options.scoring_way, tokenizer_name=options.tokenizer)

    close = answers.close if cache is None else lambda: None
    return Model(spec, generator=ApiGenerator(asker), open_scorer=open_scorer, close=close)


def _own_cache() -> "AnswerCache":
    from kgprobe.models.api.cache import AnswerCache, answer_cache_path

    return AnswerCache(answer_cache_path())
