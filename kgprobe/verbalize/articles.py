"""The definite article that English puts before some names: the Netherlands, the European Union, but France, Tokyo.

A rule of thumb over the words of a name, since a graph does not hold its article. It looks at the name alone, which
is right for names of countries, organizations, seas and rivers, and adds nothing where no rule speaks for it.
"""

import re

# A name that holds one of these as a word takes the article: the Czech Republic, the Bay of Bengal, the Arab League.
_COMMON_NOUNS = (
    "Alliance Alps Assembly Association Bank Bay Canal Caliphate Caucasus Channel Coast Commission Committee Community "
    "Commonwealth Confederation Congo Council Court Desert Dynasty Emirate Emirates Empire Federation Forum Fund Group "
    "Gulf Hague Highlands Initiative Isles Islands Kingdom Khanate League Lowlands Market Mountains Nations Ocean "
    "Organisation Organization Pact Parliament Partnership Peninsula Plains Principality Protectorate Republic River "
    "Sea Secretariat Soviet Sahara Secretary Soviets State States Strait Sultanate Territories Territory Treaty Union "
    "Urals"
).split()
_NAMES = frozenset(
    "Americas Andes Appalachians Atlantic Bahamas Balkans Baltic Bronx Carpathians Comoros Crimea Danube Gambia Ganges "
    "Himalayas Hague Ivory Maldives Mediterranean Netherlands Nile Pacific Philippines Pyrenees Rhine Rockies "
    "Seychelles Vatican".split()
) - {"Ivory", "Hague"}
_ABBREVIATIONS = frozenset(
    "AU BIS BRICS CAR CIS DRC EEA EEC EU FAO FRG G7 G8 G20 GDR ICC IMF OAU OECD PRC ROK UAE UK UN US USA USSR WHO WTO".split()
) - {"BRICS"}
# What a noun of the first list does not carry: cities, persons, and names that are one in spite of their words.
_WITHOUT = re.compile(
    r"\b(City|Town|Village|County|Lake|Mount|University|Airport|Square)$|^(Lake|Mount|Saint|St\.?|Port|Fort|New) "
)
_HAS_ARTICLE = re.compile(r"(?i)^(the|la|le|los|las|el|al|der|die|das|a|an)\b")
_NOUN = re.compile(r"\b(?:" + "|".join(_COMMON_NOUNS) + r")\b")


def mention(label: str) -> str:
    """A name as it stands within an English sentence, with its article where it takes one."""
    return f"the {label}" if takes_article(label) else label


def takes_article(label: str) -> bool:
    """Whether English puts ``the`` before a name."""
    if _HAS_ARTICLE.match(label) or _WITHOUT.search(label):
        return False
    if label in _NAMES or label in _ABBREVIATIONS or label.replace(".", "") in _ABBREVIATIONS:
        return True
    words = label.split()
    if len(words) > 1 and _NOUN.search(label):
        # A possessive is its own determiner: Lao People's Democratic Republic takes the article, Jordan's Union does not.
        return not re.match(r"\w+'s\b", label)
    return False
