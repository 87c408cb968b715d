"""Options of the facts to retrieve; imports nothing heavy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgprobe.base.options import option

if TYPE_CHECKING:
    from kgprobe.labelling.table import LabelledFact

# Formats of a file; kgprobe.labelling.exports.retrieval writes them.
FORMATS = ("text", "jsonl", "cypher")


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """Selection of the facts to retrieve."""

    classes: tuple[str, ...] = option(
        (), "Select facts of this class, such as 'unknown'; repeatable.", flag="class", metavar="NAME", common=True
    )
    below: float = option(
        0.5,
        "Without --class: select facts that the model knows with a probability below this.",
        above=0,
        maximum=1,
        is_share=True,
        common=True,
    )
    predicted: bool = option(False, "Also take facts that the model was not asked, by their predictions.", common=True)
    steps: int = option(
        1, "Facts of the entities (1), or also of their neighbours (2).", minimum=1, maximum=2, common=True
    )
    per_entity: int | None = option(
        None,
        "Maximum number of facts around each entity, the surest unknown first.",
        minimum=1,
        none="all",
        common=True,
    )

    def selects(self, labelled: "LabelledFact") -> bool:
        """Return True if a fact is unknown by these options, by answers or by a prediction."""
        return labelled.is_in(self.classes) if self.classes else labelled.known < self.below

    def takes(self, labelled: "LabelledFact") -> bool:
        """Return True if a selected fact is to be retrieved: by answers to it, or also by a prediction."""
        if not self.classes:
            return self.predicted or labelled.basis == "asked"
        return not set(self.classes).isdisjoint(labelled.classes_to_take(self.predicted))
