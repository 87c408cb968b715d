"""Names in German, French and Spanish sentences: articles, contractions and elision, and the forms in answers.

Graphs store names without article. Only listed names get one: countries that have an article in these languages. So
an unlisted name never gets a wrong one. They get it at the beginning of a sentence, and after listed prepositions and
verbs, but not after a noun (*des Landes Schweiz*) or an article. The rules:

- German: *die Schweiz*, after a preposition with the dative *der Schweiz*, *den Niederlanden*. Listed names are
  feminine, plural, or the United Kingdom, which have the same form in the nominative and the accusative. In an answer,
  a name may have the *s* of the genitive (*Frankreichs*), adjectives in it other endings (*das Schwarze Meer* for
  *Schwarzes Meer*), and an umlaut two letters (*Koeln*).
- French: *la France*, *le Japon*, *les Pays-Bas*, *l'Italie*. *de* and *à* contract with *le* and
  *les* (*du Japon*, *aux Pays-Bas*). *de* and *que* lose their vowel before a vowel (*d'Oslo*, *qu'Oslo*), and before a
  listed name with a silent h (*d'Haïti*); before other names with h they keep it. A name with an article of its own
  contracts, too: *du Caire*.
- Spanish: names have no article (*de Estados Unidos*), and *de* and *a* contract with *el* in a name: *del Reino Unido*
  for *el Reino Unido*, but *de El Salvador*, whose article is part of the name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

# From the text before a name and the name to the changed text and the form of the name.
Placing = Callable[[str, str], tuple[str, str]]
Spelling = Callable[[str], Iterator[str]]


def unchanged(before: str, name: str) -> tuple[str, str]:
    """Return a text and a name as they are."""
    return before, name


def one_spelling(name: str) -> Iterator[str]:
    """Yield a name."""
    yield name


def _listed(names: str) -> list[str]:
    return [name.replace("_", " ") for name in names.split()]


# Nominative and dative.
_GERMAN: Mapping[str, tuple[str, str]] = {
    **{
        name: (f"die {name}", f"der {name}")
        for name in _listed(
            "Antarktis Arktis DDR Elfenbeinküste EU Mongolei Schweiz Slowakei Sowjetunion Tschechoslowakei"
            " Türkei UdSSR"
            " Republik_Kongo Ukraine Vatikanstadt Weimarer_Republik"
        )
    },
    **{
        f"{adjective} {noun}": (f"die {adjective} {noun}", f"der {adjective}n {noun}")
        for adjective, noun in (
            ("Demokratische", "Republik Kongo"),
            ("Dominikanische", "Republik"),
            ("Europäische", "Union"),
            ("Tschechische", "Republik"),
            ("Zentralafrikanische", "Republik"),
        )
    },
    **{
        name: (f"die {name}", f"den {name}")
        for name in _listed("Bahamas Komoren Malediven Marshallinseln Philippinen Salomonen Seychellen USA")
    },
    "Niederlande": ("die Niederlande", "den Niederlanden"),
    "Vereinigte Staaten": ("die Vereinigten Staaten", "den Vereinigten Staaten"),
    "Vereinigte Staaten von Amerika": (
        "die Vereinigten Staaten von Amerika",
        "den Vereinigten Staaten von Amerika",
    ),
    "Vereinigte Arabische Emirate": ("die Vereinigten Arabischen Emirate", "den Vereinigten Arabischen Emiraten"),
    "Vereinigtes Königreich": ("das Vereinigte Königreich", "dem Vereinigten Königreich"),
}
_GERMAN_DATIVE = re.compile(r"(?i)\b(?:von|aus|mit|bei|zu|nach|seit|in)\s$")
_GERMAN_NOMINATIVE = re.compile(
    r"(?i)^$|[:,]\s$|\b(?:an|für|durch|gegen|über|um|und|oder|ist|sind|war|waren|wird|wurde|hat|hatte|heißt|hieß|lautet|lautete"
    r"|besitzt|besteht|folgt|grenzt|liegt|mündet|steht|stammt|umfasst|verwendet|enthält|dass)\s$"
)


def german(before: str, name: str) -> tuple[str, str]:
    """Place a name in a German sentence.

    >>> german("Hauptstadt von ", "Schweiz"), german("Hauptstadt von ", "Frankreich")
    (('Hauptstadt von ', 'der Schweiz'), ('Hauptstadt von ', 'Frankreich'))
    >>> german("Hauptstadt des Landes ", "Schweiz")
    ('Hauptstadt des Landes ', 'Schweiz')
    """
    nominative, dative = _GERMAN.get(name, (name, name))
    if _GERMAN_DATIVE.search(before):
        return before, dative
    return before, nominative if _GERMAN_NOMINATIVE.search(before) else name


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
# Adjectives within names of places and institutions.
_ADJECTIVE = re.compile(
    r"\b((?:[^\W\d_]+isch|Alt|Blau|Deutsch|Gelb|Gross|Groß|Heilig|Hoh|Klein|Mittler|Neu|Nördlich|Ober|Östlich|Rot|Schwarz|Still"
    r"|Südlich|Tot|Unter|Vereinigt|Weiss|Weiß|Westlich))(?:e[mnrs]?)\b(?= [^\W\d_])"
)
_ENDINGS = ("e", "en", "es", "er", "em")
# Shorter names with an s look like other names: Han and Hans.
_INFLECTED = 4


def german_spellings(name: str) -> Iterator[str]:
    """Yield a name and its forms in a German text.

    >>> list(german_spellings("Köln"))
    ['Köln', 'Kölns', 'Koeln', 'Koelns']
    """
    forms = [name]
    if _ADJECTIVE.search(name):
        forms += [_ADJECTIVE.sub(rf"\g<1>{ending}", name) for ending in _ENDINGS]
    if name in _GERMAN:
        forms += [form.partition(" ")[2] for form in _GERMAN[name]]
    for form in dict.fromkeys(chain(forms, [form.translate(_UMLAUTS) for form in forms])):
        yield form
        if len(form) >= _INFLECTED and form[-1].isalpha() and form[-1].lower() not in "sßxz":
            yield f"{form}s"


_FRENCH = {
    **dict.fromkeys(
        _listed(
            "Afrique Afrique_du_Sud Albanie Algérie Allemagne Amérique_du_Nord Amérique_du_Sud Andorre Angleterre"
            " Antarctique Arabie_saoudite Argentine Arménie Asie Australie Autriche Barbade Bavière Belgique"
            " Biélorussie Cité_du_Vatican Micronésie République_démocratique_allemande"
            " Birmanie Bolivie Bosnie-Herzégovine Bulgarie Catalogne Chine Colombie Corée_du_Nord Corée_du_Sud"
            " Côte_d'Ivoire Croatie Dominique Écosse Égypte Érythrée Espagne Estonie Éthiopie Europe Finlande France"
            " Gambie Géorgie Grèce Grenade Guinée Guinée-Bissau Guinée_équatoriale Hongrie Inde Indonésie Irlande"
            " Irlande_du_Nord Islande Italie Jamaïque Jordanie Lettonie Libye Lituanie Macédoine_du_Nord Malaisie"
            " Mauritanie Moldavie Mongolie Namibie Norvège Nouvelle-Zélande Océanie Palestine"
            " Papouasie-Nouvelle-Guinée Pologne Prusse République_centrafricaine République_démocratique_du_Congo"
            " République_dominicaine République_du_Congo République_populaire_de_Chine Roumanie Russie Serbie"
            " Sierra_Leone Slovaquie Slovénie Somalie Suède Suisse Syrie Tanzanie Tchécoslovaquie Tchéquie Thaïlande"
            " Tunisie Turquie Ukraine Union_européenne Union_soviétique Yougoslavie Zambie"
        ),
        "la",
    ),
    **dict.fromkeys(
        _listed(
            "Afghanistan Angola Azerbaïdjan Bangladesh Belize Bénin Bhoutan Botswana Brésil Burkina_Faso Burundi"
            " Cambodge Cameroun Canada Cap-Vert Chili Costa_Rica Danemark Équateur Gabon Ghana Guatemala Guyana"
            " Eswatini Honduras Kirghizstan"
            " Irak Iran Japon Kazakhstan Kenya Kirghizistan Kosovo Koweït Laos Lesotho Liban Liberia Liechtenstein"
            " Luxembourg Malawi Mali Maroc Mexique Monténégro Mozambique Népal Nicaragua Niger Nigeria Ouganda"
            " Ouzbékistan Pakistan Panama Paraguay Pays_de_Galles Pérou Portugal Qatar Royaume-Uni Rwanda Salvador"
            " Sénégal Soudan Soudan_du_Sud Sri_Lanka Suriname Tadjikistan Tchad Timor_oriental Togo"
            " Turkménistan Uruguay"
            " Vatican Venezuela Viêt_Nam Yémen Zimbabwe"
        ),
        "le",
    ),
    **dict.fromkeys(
        _listed(
            "Bahamas Comores Émirats_arabes_unis États-Unis Fidji Îles_Marshall Îles_Salomon Maldives Palaos Pays-Bas"
            " Philippines Seychelles"
        ),
        "les",
    ),
}
# Words that contract with an article, or lose their vowel.
FRENCH_SEAM = re.compile(r"(?i)\b(?:de|que|à)\s$")
_FRENCH_ARTICLE = re.compile(
    r"(?i)^$|\b(?:de|que|à|est|était|pour|avec|par|dans|sur|sous|et|ou|entre|vers|contre|comprend|contient|possède|suit)\s$"
    r"|\ba(?:vait)? pour [^\[\]]+\s$"
)
_FRENCH_VOWEL = re.compile(
    r"(?i)[aeiouœæàâäéèêëîïôöùûü]|y(?![aeiouéèê])"
    r"|(?:ha[dï]|hect|hél|henri|héra[ck]|hermès|hérod|hippo|homère|honoré|horace)"
)
_CONTRACTED = {"de le ": "du ", "de les ": "des ", "à le ": "au ", "à les ": "aux "}


def french(before: str, name: str) -> tuple[str, str]:
    """Place a name in a French sentence.

    >>> french("la capitale de ", "Japon"), french("est-ce que ", "Oslo")
    (('la capitale du ', 'Japon'), ("est-ce qu'", 'Oslo'))
    """
    article = _FRENCH.get(name, "") if _FRENCH_ARTICLE.search(before) else ""
    if article in ("la", "le") and _FRENCH_VOWEL.match(name):
        return before, f"l'{name}"
    form = f"{article} {name}" if article else name
    seam = FRENCH_SEAM.search(before)
    if seam is None:
        return before, form
    word = seam[0].lower()
    for apart, contracted in _CONTRACTED.items():
        if f"{word}{form.lower()}".startswith(apart):
            rest = form[len(apart) - len(word) :]
            return f"{before[: seam.start()]}{contracted}", rest
    if word != "à " and not article and _FRENCH_VOWEL.match(name):
        return f"{before.rstrip()[:-1]}'", name
    return before, form


def french_spellings(name: str) -> Iterator[str]:
    """Yield a name and, for a name that begins with *Le* or *Les*, its contracted forms.

    >>> list(french_spellings("Le Caire"))
    ['Le Caire', 'du Caire', 'au Caire']
    """
    yield name
    article, _, rest = name.partition(" ")
    for form in {"le": ("du", "au"), "les": ("des", "aux")}.get(article.lower(), ()) if rest else ():
        yield f"{form} {rest}"


_SPANISH_SEAM = re.compile(r"(?i)\b(de|a)\s$")


def spanish(before: str, name: str) -> tuple[str, str]:
    """Place a name in a Spanish sentence.

    >>> spanish("la capital de ", "el Reino Unido"), spanish("la capital de ", "El Salvador")
    (('la capital del ', 'Reino Unido'), ('la capital de ', 'El Salvador'))
    """
    if name.startswith("el ") and _SPANISH_SEAM.search(before):
        return f"{before.rstrip()}l ", name[3:]
    return before, name
