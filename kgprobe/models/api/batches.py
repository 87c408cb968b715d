"""Requests through a batch API: half the price, answers within 24 hours.

Protocol of OpenAI: the requests are the lines of an uploaded file (``/files``); a batch of them (``/batches``) is
computed by the server, and its answers are the lines of other files, in any order, found by their ids. A batch has at
most 50,000 requests and 200 MB; more requests make several batches at the same time.

A batch is stored before it is created, so a program that is killed finds it again. Answers are cached under the same
keys as direct ones. Requests that fail, or that the server did not reach within the 24 hours, are submitted again with
the next batch.
"""

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
import msgspec
import openai

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.base.progress import print_message, waiting
from kgprobe.models.api.address import Address
from kgprobe.models.api.batch_client import (
    BatchClient,
    BatchFault,
    BatchState,
    PendingBatch,
    PendingBatches,
    RequestCounts,
)
from kgprobe.models.api.connection import Declined, Fault, Form, classify_error, fatal_message, open_client, shortened
from kgprobe.models.api.spending import BATCH_PRICE, MOST_REQUESTS, ApiOptions, BudgetSpentError, Reservation, Spending
from kgprobe.models.generating.generator import Answer, Unanswered

# Maximum bytes of a batch.
_MOST_BYTES = 200_000_000
# Maximum number of batches that contain the same request: each can take a day.
_MOST_SUBMISSIONS = 3
# Seconds between two requests for the state of a batch.
_FIRST_POLL, _LONGEST_POLL = 2.0, 60.0
_POLL_GROWTH = 1.5

RequestT = TypeVar("RequestT")


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct):
    """Line of an output or an error file."""

    custom_id: str
    response: _Response | None = None
    error: BatchFault | None = None


@dataclass(slots=True)
class _Reading:
    """State of reading the answers of a batch.

    Attributes:
        missing: keys of its open requests without a line so far.
        dropped: parameters that were dropped before it was submitted.
        fatal: error after which the server declines all requests.
    """

    missing: set[str]
    dropped: frozenset[str]
    read: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fatal: Declined | None = None


class BatchSession(Generic[RequestT]):
    """Requests that are sent in batches."""

    def __init__(
        self,
        address: Address,
        options: ApiOptions,
        spending: Spending,
        form: Form[RequestT],
        pending: PendingBatches,
        is_cached: Callable[[str], bool],
        cached: Callable[[RequestT], Answer | None],
        done: Callable[[RequestT, Answer | Unanswered], None],
    ) -> None:
        """Create a session; nothing is sent yet, and ``cached`` is not called if answers are refreshed."""
        self._address = address
        self._options = options
        self._prices = options.prices and options.prices.at(BATCH_PRICE)
        self._spending = spending
        self._usage = spending.usage[address.name]
        self._form = form
        self._pending = pending
        self._is_cached = is_cached
        self._cached = cached
        self._done = done
        # Requests without an answer, by key.
        self._open: dict[str, RequestT] = {}
        # Submitted batches whose answers are not read, with their reservations.
        self._submitted: list[tuple[PendingBatch, Reservation]] = []
        self._failures: Counter[str] = Counter()
        self._sent: set[str] = set()
        # Parameters that the server declined, now, and when a batch was submitted, by its token.
        self._dropped: frozenset[str] = frozenset()
        self._dropped_before: dict[str, frozenset[str]] = {}

    def ask(self, requests: Mapping[str, RequestT]) -> None:
        """Answer all requests, by their cache keys; collect earlier batches first.

        Cost: minutes to a day for each batch, but several batches at the same time. Requests that fail make a second
        and a third one.

        Raises:
            BudgetSpentError: The budget does not cover the requests; none of them was submitted.
        """
        self._open = dict(requests)
        with open_client(self._address, self._options.timeout) as client:
            self._client = BatchClient(client, self._address, self._options, self._pending)
            try:
                while self._open:
                    self._start(len(requests))
                    self._collect()
            except KeyboardInterrupt:
                if self._submitted:
                    print_message(self._continued())
                raise
            except KgprobeError as error:
                if self._submitted:
                    raise KgprobeError(f"{error} {self._continued()}") from error
                raise
            finally:
                for _, reservation in self._submitted:
                    # The costs are counted when the answers are collected.
                    self._spending.settle(reservation, 0, 0)

    def _continued(self) -> str:
        ids = ", ".join(str(pending.id) for pending, _ in self._submitted)
        noun, verb, pronoun = (
            ("Batch", "continues", "its") if len(self._submitted) == 1 else ("Batches", "continue", "their")
        )
        return f"{noun} {ids} {verb} at the server; repeat the command to collect {pronoun} answers."

    def _start(self, total: int) -> None:
        """Find earlier batches with some of the open requests, and submit the other requests."""
        with self._pending.submitting():
            earlier = self._pending.with_any(self._open.keys())
            # In this order: other programs store answers before they forget the batch.
            self._finish_cached()
            for pending in earlier:
                if any(key in self._open for key in pending.keys):
                    self._resume(pending)
            submitted: set[str] = set()
            for pending, _ in self._submitted:
                submitted.update(pending.keys)
            parts = self._parts([key for key in self._open if key not in submitted])
            try:
                reservations = self._reserve(parts, total)
            except BudgetSpentError:
                # Earlier batches may cost less than the reserved maximum.
                if not self._submitted:
                    raise
                return
            while parts:
                try:
                    pending = self._submit(parts[0])
                except BaseException:
                    for reservation in reservations:
                        self._spending.settle(reservation, 0, 0)
                    raise
                self._submitted.append((pending, reservations.pop(0)))
                print_message(f"{self._address.name}: batch {pending.id} of {len(parts.pop(0)):,} requests submitted.")

    def _finish_cached(self) -> None:
        """Finish the open requests that another program has answered in the meantime."""
        if self._options.refresh:
            return
        for key, request in list(self._open.items()):
            answer = self._cached(request)
            if answer is not None:
                self._finish(key, answer)

    def _resume(self, pending: PendingBatch) -> None:
        """Follow an earlier batch, if it was created."""
        batch = self._client.completed(pending)
        if batch is None:
            return
        own = [key for key in batch.keys if key in self._open]
        reservation = self._reservation(own)
        self._spending.hold(reservation)
        self._submitted.append((batch, reservation))
        self._sent.update(own)
        self._usage.batches += 1
        print_message(f"{self._address.name}: batch {batch.id} was submitted earlier; its answers are collected.")

    def _parts(self, keys: Sequence[str]) -> list[list[str]]:
        """Split requests by the limits of a batch."""
        parts: list[list[str]] = []
        size = 0
        for key in keys:
            line = len(self._line(key))
            if not parts or len(parts[-1]) == MOST_REQUESTS or size + line > _MOST_BYTES:
                parts.append([])
                size = 0
            parts[-1].append(key)
            size += line
        return parts

    def _line(self, key: str) -> bytes:
        body = self._form.body(self._open[key])
        line = {"custom_id": key, "method": "POST", "url": f"/v1{self._form.path}", "body": body}
        return json.dumps(line).encode() + b"\n"

    def _reservation(self, keys: Iterable[str]) -> Reservation:
        prompt_tokens = completion_tokens = 0
        for key in keys:
            most_prompt, most_completion = self._form.size(self._open[key])
            prompt_tokens += most_prompt
            completion_tokens += most_completion
        return Reservation(self._address.name, self._prices, prompt_tokens, completion_tokens)

    def _reserve(self, parts: Sequence[Sequence[str]], total: int) -> list[Reservation]:
        """Reserve the maximum cost of all parts, or of none."""
        reservations: list[Reservation] = []
        for part in parts:
            reservation = self._reservation(part)
            if self._spending.reserve(reservation):
                reservations.append(reservation)
                continue
            for earlier in reservations:
                self._spending.settle(earlier, 0, 0)
            whole = self._reservation(key for keys in parts for key in keys)
            cost = "" if whole.prices is None else f" ({whole.cost:.4f} in money)"
            requests = sum(map(len, parts))
            answered = total - len(self._open)
            raise BudgetSpentError(
                f"The budget does not cover a batch of {requests:,} requests to {self._address.name}:"
                f" {self._spending.describe()} are spent, and the batch may take up to {whole.tokens:,} tokens{cost}."
                " It was not submitted; raise the budget, or ask fewer facts.",
                answered,
                total,
            )
        return reservations

    def _submit(self, keys: list[str]) -> PendingBatch:
        """Create a batch; it is on disk before the server knows it."""
        url, model = self._address.url, self._address.model
        pending = PendingBatch(secrets.token_hex(16), url, model, keys, time.time(), refresh=self._options.refresh)
        pending = self._client.submit(pending, b"".join(map(self._line, keys)), self._form.path)
        self._dropped_before[pending.token] = self._dropped
        self._usage.batches += 1
        self._usage.requests += len(keys)
        self._usage.retries += sum(key in self._sent for key in keys)
        self._sent.update(keys)
        return pending

    def _collect(self) -> None:
        """Wait for all batches, and read the answers of each when it ends."""
        polls = 0
        unknown: set[str] = set()
        with waiting(f"Batches of {self._address.name}") as wait:
            while self._submitted:
                states: list[BatchState] = []
                for started in list(self._submitted):
                    state = self._client.state(started[0])
                    if state.has_ended:
                        self._read(*started, state)
                    else:
                        states.append(state)
                    if state.is_unknown and state.id not in unknown:
                        unknown.add(state.id)
                        print_message(self._unknown_status(state))
                counts = [state.request_counts or RequestCounts() for state in states]
                completed, failed = sum(count.completed for count in counts), sum(count.failed for count in counts)
                total = sum(count.total for count in counts)
                statuses = self._address.without_key(", ".join(dict.fromkeys(state.status for state in states)))
                wait.note = f"{completed:,} of {total:,} requests done, {failed:,} failed ({statuses})"
                if states:
                    time.sleep(min(_LONGEST_POLL, _FIRST_POLL * _POLL_GROWTH ** min(polls, 20)))
                    polls += 1

    def _unknown_status(self, state: BatchState) -> str:
        status = self._address.without_key(shortened(state.status))
        text = f"{self._address.name}: batch {state.id} has the unknown status {status!r}"
        if state.has_ended:
            return f"{text}, and files: its answers are read."
        return f"{text}, and no answers yet. Ctrl-C stops waiting; the same command continues."

    def _read(self, pending: PendingBatch, reservation: Reservation, state: BatchState) -> None:
        """Settle the requests of an ended batch."""
        own = {key for key in pending.keys if key in self._open}
        reading = _Reading(set(own), self._dropped_before.get(pending.token, frozenset()))
        try:
            for file in filter(None, (state.output_file_id, state.error_file_id)):
                for line in self._client.lines(pending, file):
                    self._read_line(line, reading)
        finally:
            self._submitted.remove((pending, reservation))
            self._spending.settle(reservation, reading.prompt_tokens, reading.completion_tokens)
        if reading.read == 0 and (reading.fatal or state.status == "failed"):
            self._pending.settle(pending, own, self._is_cached)
            self._stop(reading, state)
            return
        for key in reading.missing:
            self._settle(key, Fault(f"its batch ended ({state.status}) without an answer"), reading)
        self._pending.settle(pending, own, self._is_cached)
        if state.status == "cancelled" and not own.isdisjoint(self._open):
            raise KgprobeError(
                f"Batch {state.id} of {self._address.name} was cancelled at the server; {reading.read:,} of"
                f" {len(own):,} answers are kept. Repeat the command to submit the rest again."
            )

    def _stop(self, reading: _Reading, state: BatchState) -> None:
        """Raise the reason why a batch has no answers, unless it can be submitted again after the other batches."""
        if reading.fatal:
            raise KgprobeError(fatal_message(self._address, reading.fatal, self._form.needs))
        if state.exceeds_limit and self._submitted:
            return
        reasons = "; ".join(f"{fault.message or 'no message'} ({fault.code})" for fault in state.faults[:3])
        text = f"Batch {state.id} of {self._address.name} failed: {self._address.without_key(reasons) or 'no reason'}."
        if state.exceeds_limit:
            text += " A smaller `batch_size` makes smaller batches, one after the other."
        raise KgprobeError(text)

    def _read_line(self, content: bytes, reading: _Reading) -> None:
        try:
            line = msgspec.json.decode(content, type=_Line)
        except UNREADABLE_JSON:
            # Its request counts as missing.
            return
        if line.custom_id not in reading.missing:
            return
        reading.missing.remove(line.custom_id)
        request = self._open[line.custom_id]
        result = self._result(line, request)
        if isinstance(result, Answer):
            reading.read += 1
            reading.prompt_tokens += result.prompt_tokens
            reading.completion_tokens += result.completion_tokens
        elif isinstance(result, Fault) and result.reached:
            # Paid, but unreadable.
            most_prompt, most_completion = self._form.size(request)
            reading.prompt_tokens += most_prompt
            reading.completion_tokens += most_completion
        self._settle(line.custom_id, result, reading)

    def _result(self, line: _Line, request: RequestT) -> Answer | Fault | Declined:
        response = line.response
        if response is None:
            error = line.error or BatchFault()
            return Fault(f"{error.message or 'no message'} ({error.code})", reached=False)
        content = bytes(response.body)
        if response.status_code == 200:
            return self._form.read(content, request)
        return classify_error(_status_error(response.status_code, content, self._address.url), time.time())

    def _settle(self, key: str, result: Answer | Fault | Declined, reading: _Reading) -> None:
        """Finish a request, or leave it open for the next batch."""
        if isinstance(result, Declined):
            self._settle_declined(key, result, reading)
        elif isinstance(result, Answer) and self._form.is_complete(result):
            self._finish(key, result)
        elif self._has_failed(key):
            text = "the answer was empty" if isinstance(result, Answer) else result.reason
            reason = self._address.without_key(text)
            self._finish(key, Unanswered(f"{reason} ({self._failures[key]} batches)"))

    def _settle_declined(self, key: str, declined: Declined, reading: _Reading) -> None:
        if self._is_adapted(self._open[key], declined, reading.dropped):
            return
        if declined.fatal and reading.read == 0:
            reading.fatal = declined
            if not self._has_failed(key):
                return
        self._finish(key, Unanswered(self._address.without_key(declined.reason)))

    def _has_failed(self, key: str) -> bool:
        """Count a failure of a request; return True if it was the last attempt."""
        self._failures[key] += 1
        return self._failures[key] >= min(self._options.attempts, _MOST_SUBMISSIONS)

    def _is_adapted(self, request: RequestT, declined: Declined, before: frozenset[str]) -> bool:
        """Drop a declined parameter for the next batch; return False if the reason is another.

        Args:
            before: parameters that the declined request did not have.
        """
        body = self._form.body(request) or {}
        # Another request of the same batch may have dropped it.
        parameter = declined.declined_of({**body, **dict.fromkeys(self._dropped)})
        if parameter is None or parameter in before:
            return False
        if parameter not in self._dropped:
            if not self._form.adapt(parameter, declined.reason):
                return False
            self._dropped |= {parameter}
            self._usage.declined.add(parameter)
        return True

    def _finish(self, key: str, result: Answer | Unanswered) -> None:
        self._done(self._open.pop(key), result)


def _status_error(status: int, content: bytes, url: str) -> openai.APIStatusError:
    """Return the client's error for a response in a file."""
    response = httpx2.Response(status, content=content, request=httpx2.Request("POST", url))
    try:
        body: Any = msgspec.json.decode(content)
    except UNREADABLE_JSON:
        body = None
    if isinstance(body, dict):
        body = body.get("error", body)
    return openai.APIStatusError(f"HTTP {status}", response=response, body=body)
