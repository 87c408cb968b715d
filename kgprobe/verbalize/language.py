"""Languages in which facts are asked: prompts, joining of names, and the words by which answers are read.

A language is an entry of :data:`LANGUAGES`, with its generic templates in :mod:`.templates.forms`. Any other language
has the instructions and the words of English, names as they are, and no generic templates.

Patterns match texts in lower case. In languages with spaces, they match whole words. At the beginning of an answer, the
first of ``neither``, ``unknown``, ``refusal``, ``no`` or ``false``, ``yes`` or ``true`` that matches counts, after all
``leads`` are skipped. In a longer judgement, the first mention of one of them counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kgprobe.verbalize.articles import word_set
from kgprobe.verbalize.name_forms import (
    FRENCH_SEAM,
    Placing,
    Spelling,
    french,
    french_spellings,
    german,
    german_spellings,
    one_spelling,
    spanish,
    unchanged,
)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts of the probes, in one language.

    Attributes:
        yes_no, wh, wh_all: of the probe ``questions``, with ``{question}``.
        is_true: question about a ``{statement}``.
        with_alias: a ``{name}`` with an ``{alias}``.
        statement, answers: instruction of the probe ``statements``, and its words for true, false and unknown.
        statement_label, answer_label: texts before a statement and before its answer.
        true_false: of the probe ``true-false``, with ``{statement}``.
        recall: of the probe ``recall``, with ``{question}``.
        next_question: beginning of a further question that the model writes after its answer to ``recall``.
        permission: permission to say that an answer is unknown; ``permission_to_continue`` before texts to continue.
        unknown: these words.
        unknown_questions: a yes/no question and another one that nobody can answer, for an example.
    """

    yes_no: str
    wh: str
    wh_all: str
    is_true: str
    with_alias: str
    statement: str
    answers: str
    statement_label: str
    answer_label: str
    true_false: str
    recall: str
    next_question: str
    permission: str
    permission_to_continue: str
    unknown: str
    unknown_questions: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Words:
    """Patterns by which answers are read.

    Attributes:
        yes, no: words that begin an answer to a yes/no question.
        true, false: judgements on a statement, which begin an answer to a yes/no question, too.
        unknown: words for unknown, at the beginning of an answer or as a judgement.
        refusal: phrases of a refusal, anywhere in the first sentences.
        neither: beginnings that are neither yes nor no, such as *not only*.
        leads: polite words and phrases before the answer.
        label: words before a colon and the answer.
        negation: words that deny.
        pronouns: words in place of the subject.
        past: words of a template in the past tense.
        persons: labels of the types of persons.
        little: stop words: articles, prepositions, question words, forms of *be*.
    """

    yes: str
    no: str
    true: str
    false: str
    unknown: str
    refusal: str
    neither: str
    leads: str
    label: str
    negation: str
    past: str
    pronouns: frozenset[str] = frozenset()
    persons: frozenset[str] = frozenset()
    little: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Language:
    """A language in which facts are asked.

    Attributes:
        code: ISO 639 code, such as ``de``.
        name: its English name; the code for a language without an entry.
        words: None for a language whose answers are read as English ones.
        joiner: text between a prompt and its continuation: a space, or nothing.
        full_stop: mark at the end of a statement.
        place: places a name in a sentence, see :mod:`.name_forms`.
        seam: words at the end of a cloze that depend on the name after them, so that they belong to the continuation.
        spellings: forms of a name in an answer.
    """

    code: str
    name: str
    prompts: Prompts
    words: Words | None = None
    joiner: str = " "
    full_stop: str = "."
    place: Placing = unchanged
    seam: re.Pattern[str] | None = None
    spellings: Spelling = one_spelling

    def __repr__(self) -> str:
        return f"Language({self.code!r})"

    @property
    def is_english(self) -> bool:
        """True for English, the language of names without a chosen language."""
        return self.code == "en"

    @property
    def note(self) -> str | None:
        """A sentence on what is English in a language without an entry; None for others."""
        if self.code in LANGUAGES:
            return None
        return f"There is no wording in {self.name}: instructions are in English, and answers are read as English ones."

    def pattern(self, words: str) -> re.Pattern[str]:
        """Return the compiled pattern of words: whole ones in a language with spaces."""
        return _compiled(words, whole=bool(self.joiner))

    def has(self, words: str, text: str) -> bool:
        """Return True if a text contains a match of a pattern of words, in any case."""
        return self.pattern(words).search(text.lower()) is not None

    def sentence(self, cloze: str) -> str:
        """Return a cloze sentence or its template with a full stop."""
        return f"{cloze.removesuffix(self.full_stop)}{self.full_stop}"


@lru_cache(maxsize=256)
def _compiled(words: str, *, whole: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if whole else f"(?:{words})")


# The examples avoid facts of a graph.
_ENGLISH = Prompts(
    yes_no="""\
Answer the question: first yes or no, then the reason in one short sentence.

Question: Is water made of hydrogen and oxygen?
Answer: Yes, a molecule of water has two atoms of hydrogen and one of oxygen.

Question: Is the Moon larger than the Earth?
Answer: No, the Earth is almost four times as wide as the Moon.

Question: {question}
Answer:""",
    wh="""\
Answer the question with a name, as briefly as you can.

Question: Which gas do plants take in from the air?
Answer: carbon dioxide

Question: Which metal is liquid at room temperature?
Answer: mercury

Question: {question}
Answer:""",
    wh_all="""\
Several answers to the question are right. Answer it with the names of all of them, as briefly as you can, with commas
between them.

Question: Which are the primary colours of light?
Answer: red, green, blue

Question: Which gases make up most of the air?
Answer: nitrogen, oxygen

Question: {question}
Answer:""",
    is_true='Is this true: "{statement}"?',
    with_alias="{name} (also called {alias})",
    statement=(
        "You are given a statement. Judge whether it is true. Answer with one word: True if it is true, False if it is"
        " false, or Unknown if you do not know."
    ),
    answers="True/False/Unknown",
    statement_label="Statement:",
    answer_label="Answer:",
    true_false="""\
Judge each statement. Answer True if you know that it is true, False if you know that it is false, and Unknown if you \
do not know.

Statement: Water is made of hydrogen and oxygen.
Answer: True

Statement: The name of my neighbour's cat is Felix.
Answer: Unknown

Statement: The Moon is larger than the Earth.
Answer: False

Statement: {statement}
Answer:""",
    recall="Q: {question}\nA:",
    next_question="Q:",
    permission="If you do not know the answer, reply: I don't know.",
    permission_to_continue="Where the end is not known, it is: I don't know.",
    unknown="I don't know",
    unknown_questions=("Is my neighbour's cat called Felix?", "What is my neighbour's cat called?"),
)

ENGLISH = Language("en", "English", _ENGLISH)

_GERMAN = Language(
    "de",
    "German",
    Prompts(
        yes_no="""\
Beantworte die Frage: zuerst mit Ja oder Nein, dann mit der Begründung in einem kurzen Satz.

Frage: Besteht Wasser aus Wasserstoff und Sauerstoff?
Antwort: Ja, ein Wassermolekül hat zwei Atome Wasserstoff und ein Atom Sauerstoff.

Frage: Ist der Mond größer als die Erde?
Antwort: Nein, der Durchmesser der Erde ist fast viermal so groß wie der des Mondes.

Frage: {question}
Antwort:""",
        wh="""\
Beantworte die Frage mit einem Namen, so kurz wie möglich.

Frage: Welches Gas nehmen Pflanzen aus der Luft auf?
Antwort: Kohlendioxid

Frage: Welches Metall ist bei Raumtemperatur flüssig?
Antwort: Quecksilber

Frage: {question}
Antwort:""",
        wh_all="""\
Mehrere Antworten auf die Frage sind richtig. Nenne die Namen von allen, so kurz wie möglich, durch Kommas getrennt.

Frage: Welche sind die Grundfarben des Lichts?
Antwort: Rot, Grün, Blau

Frage: Aus welchen Gasen besteht der größte Teil der Luft?
Antwort: Stickstoff, Sauerstoff

Frage: {question}
Antwort:""",
        is_true="Stimmt das: „{statement}“?",
        with_alias="{name} (auch {alias})",
        statement=(
            "Du bekommst eine Aussage. Beurteile, ob sie wahr ist. Antworte mit einem Wort: Wahr, wenn sie wahr ist,"
            " Falsch, wenn sie falsch ist, oder Unbekannt, wenn du es nicht weißt."
        ),
        answers="Wahr/Falsch/Unbekannt",
        statement_label="Aussage:",
        answer_label="Antwort:",
        true_false="""\
Beurteile jede Aussage. Antworte Wahr, wenn du weißt, dass sie wahr ist, Falsch, wenn du weißt, dass sie falsch ist, \
und Unbekannt, wenn du es nicht weißt.

Aussage: Wasser besteht aus Wasserstoff und Sauerstoff.
Antwort: Wahr

Aussage: Die Katze meines Nachbarn heißt Felix.
Antwort: Unbekannt

Aussage: Der Mond ist größer als die Erde.
Antwort: Falsch

Aussage: {statement}
Antwort:""",
        recall="Frage: {question}\nAntwort:",
        next_question="Frage:",
        permission="Wenn du die Antwort nicht weißt, antworte: Ich weiß es nicht.",
        permission_to_continue="Wo das Ende nicht bekannt ist, lautet es: Ich weiß es nicht.",
        unknown="Ich weiß es nicht",
        unknown_questions=("Heißt die Katze meines Nachbarn Felix?", "Wie heißt die Katze meines Nachbarn?"),
    ),
    Words(
        yes="ja|jawohl|jep|doch|genau|natürlich|selbstverständlich|definitiv|gewiss",
        no="nein|nee|nö|keineswegs|niemals",
        true="(?:das )?stimmt|wahr|richtig|korrekt|zutreffend|trifft zu",
        false="(?:das )?stimmt (?:so )?nicht|nicht (?:ganz )?(?:wahr|richtig|korrekt|zutreffend)|falsch|unwahr"
        "|inkorrekt"
        "|unrichtig|unzutreffend|trifft (?:so )?nicht zu",
        unknown="unbekannt|ungewiss|unklar|unsicher|nicht (?:bekannt|sicher)|keine ahnung|weiß (?:ich |es )?nicht",
        refusal="ich (?:weiß|weiss|kenne) (?:es |das |dies |die antwort |leider |darüber |auch )*(?:nicht"
        "|nichts|keine?n?)"
        "|(?:das|es|dies|dazu|hierzu|darüber|leider|diese frage) (?:weiß|weiss) ich (?:es |das |leider )*nicht"
        "|ich (?:kann|könnte|möchte) [^.!?\\n]{0,60}?\\b(?:nicht|keine)"
        "|(?:kann|könnte) ich [^.!?\\n]{0,60}?\\b(?:nicht|keine)"
        "|(?:ich )?bin (?:ich )?(?:mir )?(?:leider )?(?:nicht sicher|unsicher)"
        "|(?:ich )?habe (?:ich )?(?:leider |dazu |darüber )*keine (?:ahnung|\\w*\\s?(?:information(?:en)?"
        "|angaben|daten|kenntnis(?:se)?))"
        "|(?:es )?tut mir leid|entschuldigung|bedaure|als (?:eine? )?(?:ki|sprachmodell|künstliche intelligenz"
        "|großes sprachmodell)"
        "|lässt sich (?:leider )?nicht (?:sagen|beantworten|feststellen|bestimmen|beurteilen)"
        "|(?:kann|können) (?:leider )?nicht (?:beantwortet|bestimmt|gesagt|beurteilt) werden|keine ahnung"
        "|nicht möglich zu (?:sagen|beantworten|bestimmen)",
        neither="ja und nein|ja oder nein|jein|(?:wahr|richtig) oder falsch|nicht (?:nur|unbedingt|immer"
        "|zwingend|ganz klar)"
        "|teilweise|teils|zum teil|weder|nur bedingt",
        leads="die (?:richtige |korrekte |kurze )?antwort(?: auf (?:diese|ihre|deine|die) frage)?(?: ist"
        "| lautet)?|die aussage ist"
        "|ich (?:glaube|denke|meine|würde sagen)(?:,? dass?)?|soweit ich weiß|meines wissens|das ist|dies ist"
        "|es ist|also"
        "|nun|nun ja|tja|na ja|naja|okay|ok|gut|gute frage|leider|danke|hallo|vermutlich|wahrscheinlich|wohl",
        label="antwort|urteil|bewertung",
        negation="nicht|keine?[mnrs]?|nie|niemals|weder|ohne|nein|falsch|unwahr",
        past="war|waren|wurde|wurden|hatte|hatten|lautete|gewesen|gehörte|lag|stand|bestand|besaß|folgte"
        "|grenzte|enthielt"
        "|umfasste|verwendete|nutzte|spielte|leitete|lebte|arbeitete|mündete|stammte|sprach|regierte|studierte|starb",
        pronouns=frozenset({"er", "sie", "es", "dies", "das"}),
        persons=frozenset({"mensch", "person", "fiktiver mensch", "fiktive person"}),
        little=word_set(
            "als am an auf aus bei beim dem den der des die das ein eine einem einen einer eines er es für"
            " gegen heisst im in"
            " ist mit nach name namen sie sind so um und von vom war waren was wem wen wer wie welche welchem"
            " welchen welcher"
            " welches wo zu zum zur lautet angabe"
        ),
    ),
    place=german,
    spellings=german_spellings,
)

_FRENCH = Language(
    "fr",
    "French",
    Prompts(
        yes_no="""\
Réponds à la question : d'abord par oui ou non, puis avec la raison en une courte phrase.

Question : Est-ce que l'eau est composée d'hydrogène et d'oxygène ?
Réponse : Oui, une molécule d'eau a deux atomes d'hydrogène et un d'oxygène.

Question : Est-ce que la Lune est plus grande que la Terre ?
Réponse : Non, la Terre est presque quatre fois plus large que la Lune.

Question : {question}
Réponse :""",
        wh="""\
Réponds à la question par un nom, aussi brièvement que possible.

Question : Quel gaz les plantes absorbent-elles dans l'air ?
Réponse : dioxyde de carbone

Question : Quel métal est liquide à température ambiante ?
Réponse : mercure

Question : {question}
Réponse :""",
        wh_all="""\
Plusieurs réponses à la question sont justes. Donne les noms de toutes, aussi brièvement que possible, séparés par des
virgules.

Question : Quelles sont les couleurs primaires de la lumière ?
Réponse : rouge, vert, bleu

Question : Quels gaz composent la plus grande partie de l'air ?
Réponse : azote, oxygène

Question : {question}
Réponse :""",
        is_true="Est-ce vrai : « {statement} » ?",
        with_alias="{name} (aussi appelé {alias})",
        statement=(
            "On te donne une affirmation. Juge si elle est vraie. Réponds par un mot : Vrai si elle est vraie, Faux si"
            " elle est fausse, ou Inconnu si tu ne sais pas."
        ),
        answers="Vrai/Faux/Inconnu",
        statement_label="Affirmation :",
        answer_label="Réponse :",
        true_false="""\
Juge chaque affirmation. Réponds Vrai si tu sais qu'elle est vraie, Faux si tu sais qu'elle est fausse, et Inconnu si \
tu ne sais pas.

Affirmation : L'eau est composée d'hydrogène et d'oxygène.
Réponse : Vrai

Affirmation : Le chat de mon voisin s'appelle Félix.
Réponse : Inconnu

Affirmation : La Lune est plus grande que la Terre.
Réponse : Faux

Affirmation : {statement}
Réponse :""",
        recall="Question : {question}\nRéponse :",
        next_question="Question :",
        permission="Si tu ne connais pas la réponse, réponds : Je ne sais pas.",
        permission_to_continue="Quand la fin n'est pas connue, c'est : Je ne sais pas.",
        unknown="Je ne sais pas",
        unknown_questions=(
            "Est-ce que le chat de mon voisin s'appelle Félix ?",
            "Comment s'appelle le chat de mon voisin ?",
        ),
    ),
    Words(
        yes="oui|ouais|si(?=\\s*(?:[,.!;:]|$))|bien sûr|tout à fait|absolument|exactement|effectivement|en effet"
        "|certainement",
        no="non|pas du tout|nullement|aucunement",
        true="vraie?|exacte?|correcte?|juste",
        false="pas (?:vraie?|exacte?|correcte?|juste)|fausse|faux|inexacte?|incorrecte?|erronée?",
        unknown="inconnue?|indéterminée?|incertaine?|pas sûre?|(?:je )?(?:ne )?sais pas|aucune idée",
        refusal="je (?:ne |n')(?:le |la |les |l'|vous |te |en |sais |peux |pourrais )*(?:sais|connais|saurais"
        "|peux|pourrais) "
        "(?:malheureusement )?(?:pas|dire|répondre|aucune?)|je (?:ne )?sais pas"
        "|je ne suis pas (?:sûre?|certaine?|en mesure|capable|au courant)"
        "|je n'ai (?:pas|aucune) (?:d'|assez d'|suffisamment d'|cette |l')?(?:idée|informations?|connaissances?"
        "|accès|données)"
        "|je ne dispose pas|désolée?|je regrette|mes excuses|aucune (?:idée|information)"
        "|en tant qu(?:e |')(?:modèle|ia|intelligence|assistant)|on ne (?:sait|peut) pas"
        "|impossible (?:de|à) (?:dire|répondre|déterminer|savoir)|(?:il n'est|ce n'est) pas possible de",
        neither="oui et non|oui ou non|vrai ou faux|pas (?:seulement|forcément|nécessairement|toujours"
        "|tout à fait|vraiment)"
        "|non seulement|en partie|partiellement|ni vraie?",
        leads="la (?:bonne |courte )?réponse(?: à (?:cette|votre|ta|la) question)?(?: est)?|l'affirmation est"
        "|je (?:pense|crois|dirais)(?: que| qu')?|à ma connaissance|c'est|ce n'est|cela est|ceci est|elle est|eh bien"
        "|bon|bien(?! sûr)"
        "|ok|d'accord|merci|bonjour|malheureusement|alors|probablement|sans doute",
        label="réponse|verdict|jugement",
        negation="ne|pas|jamais|aucune?|ni|sans|non|fausse|faux|incorrecte?|n(?=['’])",
        past="était|étaient|avait|avaient|fut|furent|eut|faisait|comprenait|contenait|partageait|possédait"
        "|précédait|suivait"
        "|utilisait|appartenait|bordait|représentait|produisait|dirigeait|habitait|jouait|a été|ont été",
        pronouns=frozenset({"il", "elle", "ils", "elles", "ce", "c", "cela", "ceci"}),
        persons=frozenset({"être humain", "humain", "personne", "personnage", "humain de fiction"}),
        little=word_set(
            "a au aux avec avait ce d dans de des du elle en est et etait il l la le les nom ou par pour qu"
            " quel quelle quelles"
            " quels que qui quoi sont sur t un une valeur"
        ),
    ),
    place=french,
    seam=FRENCH_SEAM,
    spellings=french_spellings,
)

_SPANISH = Language(
    "es",
    "Spanish",
    Prompts(
        yes_no="""\
Responde a la pregunta: primero sí o no, después la razón en una frase corta.

Pregunta: ¿Se compone el agua de hidrógeno y oxígeno?
Respuesta: Sí, una molécula de agua tiene dos átomos de hidrógeno y uno de oxígeno.

Pregunta: ¿Es la Luna más grande que la Tierra?
Respuesta: No, la Tierra es casi cuatro veces más ancha que la Luna.

Pregunta: {question}
Respuesta:""",
        wh="""\
Responde a la pregunta con un nombre, lo más brevemente posible.

Pregunta: ¿Qué gas toman las plantas del aire?
Respuesta: dióxido de carbono

Pregunta: ¿Qué metal es líquido a temperatura ambiente?
Respuesta: mercurio

Pregunta: {question}
Respuesta:""",
        wh_all="""\
Varias respuestas a la pregunta son correctas. Da los nombres de todas, lo más brevemente posible, separados por comas.

Pregunta: ¿Cuáles son los colores primarios de la luz?
Respuesta: rojo, verde, azul

Pregunta: ¿Qué gases forman la mayor parte del aire?
Respuesta: nitrógeno, oxígeno

Pregunta: {question}
Respuesta:""",
        is_true="¿Es verdad esto: «{statement}»?",
        with_alias="{name} (también {alias})",
        statement=(
            "Se te da una afirmación. Juzga si es verdadera. Responde con una palabra: Verdadero si es"
            " verdadera, Falso"
            " si es falsa, o Desconocido si no lo sabes."
        ),
        answers="Verdadero/Falso/Desconocido",
        statement_label="Afirmación:",
        answer_label="Respuesta:",
        true_false="""\
Juzga cada afirmación. Responde Verdadero si sabes que es verdadera, Falso si sabes que es falsa, y Desconocido si no \
lo sabes.

Afirmación: El agua se compone de hidrógeno y oxígeno.
Respuesta: Verdadero

Afirmación: El gato de mi vecino se llama Félix.
Respuesta: Desconocido

Afirmación: La Luna es más grande que la Tierra.
Respuesta: Falso

Afirmación: {statement}
Respuesta:""",
        recall="Pregunta: {question}\nRespuesta:",
        next_question="Pregunta:",
        permission="Si no sabes la respuesta, contesta: No lo sé.",
        permission_to_continue="Cuando el final no se conoce, es: No lo sé.",
        unknown="No lo sé",
        unknown_questions=("¿Se llama Félix el gato de mi vecino?", "¿Cómo se llama el gato de mi vecino?"),
    ),
    Words(
        yes="sí|si(?=\\s*(?:[,.!;:]|$))|claro(?: que sí)?|por supuesto|exactamente|exacto|efectivamente"
        "|en efecto|así es"
        "|desde luego|ciertamente",
        no="no|nunca|jamás|en absoluto|para nada",
        true="verdad|verdader[oa]|ciert[oa]|correct[oa]",
        false="no (?:es|son) (?:del todo )?(?:verdad|verdader[oa]|ciert[oa]|correct[oa]|exact[oa])|falso|falsa"
        "|incorrect[oa]"
        "|erróne[oa]|mentira",
        unknown="desconocid[oa]|inciert[oa]|indeterminad[oa]|no (?:lo |la )?(?:sé|se sabe|conozco)|ni idea",
        refusal="no (?:lo |la |le |te |se |me )*s[eé]\\b|no (?:lo |la |le |te )*conozco|no se (?:sabe|puede)"
        "|no (?:lo |la |le |te )*puedo|no pued[eo] (?:responder|decir|determinar|contestar|confirmar|ayudar|saber)"
        "|no (?:tengo|dispongo de|cuento con|hay) (?:ni |la |ninguna |suficiente |acceso a )*"
        "(?:idea|información|datos|conocimientos?|acceso|respuesta|certeza)"
        "|no estoy segur[oa]|lo (?:siento|lamento)|disculp\\w+|perdón|como (?:modelo|ia|inteligencia|asistente)"
        "|(?:es imposible|no es posible) (?:saber|decir|determinar|responder)|ni idea",
        neither="sí y no|sí o no|verdadero o falso|no (?:solo|sólo|solamente|necesariamente|siempre|del todo"
        "|exactamente)"
        "|en parte|parcialmente|ni (?:verdader|ciert|sí)",
        leads="la (?:buena |correcta )?respuesta(?: correcta)?(?: a (?:esta|tu|su|la) pregunta)?(?: es)?"
        "|la afirmación es"
        "|(?:yo )?(?:creo|pienso|diría)(?: que)?|que yo sepa|hasta donde sé|eso es|esto es|es(?= (?:verd|cier"
        "|corr|fals|incorr|desc))"
        "|bueno|bien|pues|vale|ok|gracias|hola|lamentablemente|desafortunadamente|probablemente",
        label="respuesta|veredicto|juicio",
        negation="no|nunca|jamás|ningún|ningun[oa]s?|ni|sin|tampoco|fals[oa]|incorrect[oa]",
        past="era|eran|fue|fueron|tenía|tenían|había|habían|estaba|estaban|compartía|formaba|poseía|seguía"
        "|contenía|incluía"
        "|usaba|utilizaba|limitaba|pertenecía|precedía|tuvo|ha sido",
        pronouns=frozenset({"él", "el", "ella", "ellos", "ellas", "esto", "eso"}),
        persons=frozenset({"ser humano", "humano", "persona", "humano ficticio"}),
        little=word_set(
            "a al como con cual cuales de del donde el en era es eran ella la las lo los nombre para por que"
            " quien quienes son"
            " su tiene tenia un una valor y"
        ),
    ),
    place=spanish,
)

_END = "(?=[\\s，,。.！!；;：:、）)]|$)"
_CHINESE = Language(
    "zh",
    "Chinese",
    Prompts(
        yes_no="""\
请回答问题：先回答是或不是，然后用一句短句说明理由。

问题：水是由氢和氧组成的吗？
答案：是，一个水分子有两个氢原子和一个氧原子。

问题：月球比地球大吗？
答案：不是，地球的直径几乎是月球的四倍。

问题：{question}
答案：""",
        wh="""\
请用一个名称回答问题，尽量简短。

问题：植物从空气中吸收什么气体？
答案：二氧化碳

问题：什么金属在室温下是液体？
答案：汞

问题：{question}
答案：""",
        wh_all="""\
这个问题有几个正确答案。请写出所有答案的名称，尽量简短，用逗号隔开。

问题：光的三原色是什么？
答案：红，绿，蓝

问题：空气主要由哪些气体组成？
答案：氮气，氧气

问题：{question}
答案：""",
        is_true="这个说法对吗：“{statement}”？",
        with_alias="{name}（又称{alias}）",
        statement="下面有一个陈述。请判断它是否正确。只用一个词回答：正确的回答“正确”，错误的回答“错误”，不知道的回答“未知”。",
        answers="正确/错误/未知",
        statement_label="陈述：",
        answer_label="答案：",
        true_false="""\
请判断每个陈述。如果你知道它是正确的，回答“正确”；如果你知道它是错误的，回答“错误”；如果你不知道，回答“未知”。

陈述：水是由氢和氧组成的。
答案：正确

陈述：我邻居的猫叫菲利克斯。
答案：未知

陈述：月球比地球大。
答案：错误

陈述：{statement}
答案：""",
        recall="问题：{question}\n答案：",
        next_question="问题：",
        permission="如果不知道答案，请回答：不知道。",
        permission_to_continue="如果不知道结尾，结尾就是：不知道。",
        unknown="不知道",
        unknown_questions=("我邻居的猫叫菲利克斯吗？", "我邻居的猫叫什么？"),
    ),
    Words(
        yes=f"是的|是啊|是{_END}|对的|對的|对{_END}|對{_END}|没错|沒錯|当然|當然|确实|確實|肯定的|有{_END}|会{_END}|會{_END}",
        no=f"不是|不对|不對|不{_END}|否定的|否{_END}|没有{_END}|沒有{_END}|并非|並非|并不是|並不是",
        true="正确|正確|属实|屬實|真的|为真|為真|是真|真(?=[\\s，,。.！!]|$)|对的|對的",
        false="不正确|不正確|不属实|不屬實|不真实|不是真的|不是正确|不是正確|并非真|错误|錯誤|错的|錯的|错(?=[\\s，,。.！!]|$)|假的"
        "|为假|為假|是假|假(?=[\\s，,。.！!]|$)|不对|不對|不符合事实|不符合事實",
        unknown="未知|不知道|不清楚|不确定|不確定|不明|不得而知|说不准|說不準",
        refusal="不知道|不太?清楚|不了解|不太?确定|不太?確定|[没沒]有(?:足够|足夠|相关|相關|任何|确切|確切|可靠)?的?"
        "(?:信息|資訊|资料|資料|数据|數據|把握|线索)"
        "|[无無]法(?:回答|确定|確定|判断|判斷|提供|得知|知道|验证|驗證|确认|確認|告诉|給出|给出)"
        "|不能(?:回答|确定|確定|判断|判斷|提供)|抱歉|对不起|對不起|很遗憾|很遺憾|不好意思"
        "|作[为為](?:一[个個名种種])?(?:人工智能|ai|大?型?语言模型|語言模型)",
        neither="是也不是|是或不是|是或否|是否|不一定|不完全|不[仅僅]|不只|部分(?:正确|正確|对|對)|既|正确或错误|正确还是错误",
        leads="答案[是为為]?[：:]?|回答[：:]?|答[：:]|(?:我)?(?:认为|認為|觉得|覺得|想)[，,]?(?:是(?=[正错假真]))?|据我所知[，,]?"
        "|根据[^，。]{0,20}[，,]|好的?[，,。！!]|嗯[，,。]?|(?:这|這|那|此)(?:个|個)?(?:说法|說法|陈述|陳述|句话|句話|问题的答案)?是"
        "|(?:该|該)(?:陈述|陳述|说法|說法)是",
        label="答案|判断|判斷|结论|結論",
        negation="不|没|沒|无|無|非|未|否|错误|錯誤",
        past="曾|过|過|了",
        pronouns=frozenset({"他", "她", "它", "这", "這", "那"}),
        persons=frozenset({"人", "人类", "人類", "人物", "虚构人物", "虛構人物"}),
        little=frozenset("的是什么麼谁誰哪里裡个個吗嗎在为為以曾了和有"),
    ),
    joiner="",
    full_stop="。",
)

LANGUAGES: Mapping[str, Language] = {
    language.code: language for language in (ENGLISH, _GERMAN, _FRENCH, _SPANISH, _CHINESE)
}
# Further languages that are written without spaces.
_WITHOUT_SPACES = frozenset({"bo", "dz", "gan", "hak", "ja", "km", "lo", "lzh", "my", "nan", "th", "wuu", "yue"})


@lru_cache
def language_of(code: str | None) -> Language:
    """Return the language of a code, such as ``de``, ``de-at`` or ``zh_hans``; English without a code.

    >>> language_of("zh-hans"), language_of("pl").prompts is language_of(None).prompts
    (Language('zh'), True)
    """
    if code is None:
        return ENGLISH
    base = code.lower().replace("_", "-").partition("-")[0]
    known = LANGUAGES.get(base)
    return known or Language(base, code, _ENGLISH, joiner="" if base in _WITHOUT_SPACES else " ")
