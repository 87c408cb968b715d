"""Definite article of English names: the Netherlands, the euro, the Danube, but France, Tokyo.

Graphs store names without article. These rules infer it from the words of the name, in this order:

1. A name that contains an article keeps it: The Hague, The Gambia, the Emirates, Los Angeles; but the Los Angeles
   Lakers, like other North American teams with a plural name.
2. Names in a list (plural countries, rivers, regions, some mountains), abbreviations that are read letter by letter
   (the EU, the UN), and currencies (the euro, the Swiss franc) take the article.
3. So do names that begin with a year: the 1998 Winter Paralympics, the 1985 Seattle Seahawks season; but 1896 in
   Portugal.
4. So does a common noun before *of*, *for* or another preposition: the Republic of Korea, the Gulf of Mexico, the
   Association for Computing Machinery; but Juliana of the Netherlands.
5. So does a common noun at the end, or *River* at the beginning: the Czech Republic, the Solomon Islands, the North
   Sea, the European Central Bank, the Ming dynasty, the River Thames.

All others have no article: persons, cities, languages, most countries, lakes, single mountains, abbreviations that are
read as words (NATO, ASEAN), Mexico City, Union City, and common nouns (actor, rock music). Known errors: a novel called
Amazon, a film called Moonrise Kingdom, an unlisted river without the word River.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_ENGLISH_ARTICLE = re.compile(r"(?i)(?:the|an?)\s")
_HAS_ARTICLE = re.compile(r"(?i)(?:the|an?|l[ae]s?|los|el|il|der|die|das|het)\s|l['’]")
# Words that begin with a vowel when spoken.
_VOWEL_SOUND = re.compile(
    r"(?i)(?!eu|ewe|one\b|once\b|ubiq|ugand|ukr|ukul|uk\b|unesco|uni(?![mn])|unanim"
    r"|ur[aeiou](?!n\b)|us(?:[aeu]|in)|ut(?:[eio]|ah))[aeiou]"
    r"|(?i:heir|hour|honou?r|honest)|8|1[18](?![0-9])"
)
# Spelled abbreviations: with a full stop after the first letter (F.C.), or without a vowel (MSNBC).
_LETTERS = re.compile(r"[A-Z]\.(?![a-z])|[B-DF-HJ-NP-TV-XZ]{2,}$")
# A name of three words or more that begins with a year; the second word is captured.
_YEAR_FIRST = re.compile(r"\s*(?:1[5-9]|20)[0-9]{2}(?:[-–/][0-9]{2,4})?\s+(\S+)\s+\S")

_KNOWN = word_set(
    # countries, regions, groups of islands
    "Americas Antilles Azores Bahamas Balkans Caribbean Caucasus Comoros Congo Gambia Grenadines Hebrides Levant "
    "Maghreb Maldives Netherlands Philippines Sahel Seychelles Vatican "
    # seas that go without the word, mountains, deserts
    "Adriatic Aegean Alps Andes Apennines Appalachians Arctic Atlantic Baltic Bosphorus Carpathians Caspian Dolomites "
    "Gobi Grossglockner Himalayas Kalahari Matterhorn Mediterranean Pacific Pyrenees Rockies Sahara Urals Vosges "
    "Zugspitze "
    # rivers
    "Aare Amazon Amur Arno Brahmaputra Danube Daugava Dnieper Dniester Don Donau Dordogne Douro Drava Drina "
    "Duero Ebro Elbe Ems Euphrates Ganga Ganges Garonne Guadalquivir Guadiana Hudson Inn Irrawaddy Irtysh Isar "
    "Kolyma Liffey Limpopo Loire Maas Main Marne Mekong Meuse Mississippi Missouri Moldau Morava Mosel Moselle "
    "Moskva Mur Neckar Neman Neva Nile Ob Oder Odra Oka Orinoco Oise Pechora Po Potomac Prut Rhein Rhine "
    "Rhône Rhone Ruhr Salween Saône Sava Scheldt Seine Severn Spree Tagus Tevere Thames Tiber Tigris Tisza Ucayali "
    "Vistula Volga Vltava Weser Wisła Yamuna Yangtze Yellowstone Yenisei Yenisey Zambezi"
) | {"Deutsche Mark", "Rio Grande", "Río Grande", "Río de la Plata", "Rio Negro", "Benelux Union", "Côte d'Azur"}

_SPELLED = word_set(
    "ADB ALP AU BBC BJP CAR CIA CIS CPSU CSTO DPRK DRC EC ECB EEA EEC EU FAO FBI FRG GCC GDR GOP IAEA IBRD ICC ICJ IFC "
    "ILO IMF IMO IOC ITU KGB KSA OAS OAU OECD OIC OSCE PRC PRI PSOE ROC ROK RSA SFRY UAE UK UN UNHCR US USA USSR WHO "
    "WMO WTO"
)

_MONEY = word_set(
    "afghani ariary baht balboa birr bolívar boliviano cedi colón crown crowns córdoba dalasi denar dinar dirham dobra "
    "dollar dong đồng dram drachma escudo euro forint franc gourde guaraní guilder hryvnia kina kip koruna krona krone "
    "kroon króna kuna kwacha kwanza kyat lari lats lek lempira leone leu lev lilangeni lira litas loti manat mark "
    "markka metical nakfa naira ngultrum ouguiya paʻanga pataca peseta peso pound pula quetzal rand real renminbi "
    "rial riel ringgit riyal rouble ruble rufiyaa rupee rupiah schilling shekel shilling sol som somoni soum sterling "
    "taka tala tenge tolar tugrik tālā tögrög vatu won yen yuan zloty złoty"
)

_NOUNS = word_set(
    "Academy Agency Alliance Alps Archipelago Army Assembly Association Authority Award Awards Basin Bible Bloc Board "
    "Building Caliphate Canal Chamber Championship Championships Channel Coast Colonies Commission Committee "
    "Commonwealth Community Company Confederation Conference Congress Convention Council Crisis Cup Delta Department "
    "Desert Dictionary Duchy Dynasty Emirate Emirates Emperor Empire Encyclopaedia Encyclopedia Expedition Express "
    "Federation Festival Force Forum Foundation Fund Games Governorate Group Gulf Highlands Initiative Institute "
    "Islands Isles Isthmus Khanate Kingdom League Library License Line Market Massacre Massif Medal Monarchy "
    "Mountains Movement Museum Nation Nations Navy Nebula Ocean Olympics Open Organisation Organization Pact "
    "Paralympics Parliament Partnership Party Peninsula Plain Plains Plateau Pole Police Principality Prize "
    "Protectorate Railroad Railway Range Region Republic Republics Reserve Revolution River Sea Secretariat Senate "
    "Shogunate Society Soviets States Strait Straits Sultanate Summit Territories Territory Test Testament Tournament "
    "Treaty Tribunal Trophy Tsardom Tunnel Union War"
)
# These take the article only in front of a preposition: the Bay of Bengal but Hudson Bay, the City of London but
# Mexico City.
_NOUNS_OF = _NOUNS | word_set(
    "Archbishopric Archdiocese Bailiwick Bank Battle Bay Bishopric Bridge Cathedral Church City College Constitution "
    "County Court Cross Crown Department Diocese District Duke Earl Embassy Faculty Falls Gardens Government Governor "
    "Hall House Island Isle King Lake Mayor Minister Ministry Office Order Palace Peace Prefecture President Province "
    "Queen School Sea Secretary Siege Sound State Statue Temple Tomb Tower Town University Valley Viceroyalty"
)
# In lower case at the end of a name that begins with a capital.
_SMALL_NOUNS = word_set(
    "army attack attacks bombing bombings bridge building by-election canal century championship championships class "
    "conflict crisis dynasty earthquake election elections empire epidemic family festival islands language languages "
    "league line massacre mountains movement navy pandemic protest protests railway referendum revolution riots river "
    "season series site team test tournament tribe valley war"
)
_TEAMS = word_set(
    "49ers 76ers Astros Bengals Blackhawks Blazers Braves Brewers Broncos Browns Bruins Buccaneers Bucks Bulls "
    "Canadiens Canucks Cavaliers Celtics Chargers Chiefs Clippers Colts Cowboys Cubs Diamondbacks Dodgers Falcons "
    "Flyers Grizzlies Hornets Islanders Jaguars Knicks Lakers Lions Mariners Marlins Mavericks Mets Nationals "
    "Nets Nuggets Oilers Orioles Pacers Packers Padres Panthers Patriots Pelicans Penguins Phillies Pirates Pistons "
    "Predators Raiders Rams Raptors Ravens Rockets Sabres Seahawks Senators Sox Spurs Steelers Suns Texans "
    "Timberwolves Titans Vikings Warriors Wizards Yankees"
)
# Last words that take the article only after certain words.
_LAST_TWO = re.compile(
    r"(?:Central|Development|Investment|Reserve|World|West) Bank|(?:Iron|Flying|Military|Red|Service) Cross"
    r"|(?:Appeals?|Constitutional|Criminal|District|Federal|High|Supreme) Court|Rift Valley"
)
_PREPOSITIONS = frozenset({"of", "for", "on", "against", "in", "at"})
# Names without article in spite of their last word.
_BARE = frozenset(
    {"Billy Ocean", "Cross River", "Frank Ocean", "Gabrielle Union", "George Strait", "Ivory Coast", "Oxford Union"}
    | {"River Phoenix", "Western Union"}
    # Families of languages: Zulu is a Bantu language, and the Zulu language is one of them.
    | {"Bantu language", "Celtic language", "Germanic language", "Romance language", "Slavic language"}
)
# First words of names that never take the article.
_BARE_FIRST = word_set("Lake Mount Mt Saint St St. Port Fort Cape Camp Loch Isla Mont Monte Pico Cerro")


def mention(label: str) -> str:
    """Return a name as written within an English sentence, with ``the`` if it takes the article."""
    return f"the {label}" if takes_article(label) else label


def indefinite(name: str) -> str:
    """Return ``a`` or ``an``, as required before a name: an actor, a union, an FBI agent, an 80-page book."""
    word = re.split(r"[\s-]", unicodedata.normalize("NFD", name).lstrip("\"'“‘("))[0]
    if _LETTERS.match(word) or (word.isupper() and (word in _SPELLED or len(word) < 4)):
        return "an" if word[0] in "AEFHILMNORSX" else "a"
    return "an" if _VOWEL_SOUND.match(word) else "a"


# The same names are distractors of many facts.
@lru_cache(maxsize=1 << 16)
def takes_article(label: str) -> bool:
    """Return True if English puts ``the`` before a name; False if the name contains its article already."""
    words = label.split()
    if not words or _ENGLISH_ARTICLE.match(label):
        return False
    listed = _listed_article(label, words)
    if listed is not None:
        return listed
    if year := _YEAR_FIRST.match(label):
        return year[1] not in _PREPOSITIONS and ":" not in label
    if re.match(r"\s*River\s+\S", label):
        return True
    for place, word in enumerate(words[1:], start=1):
        if word in _PREPOSITIONS:
            return _noun_precedes(words, place)
    return _ends_in_noun(label, words)


def _listed_article(label: str, words: Sequence[str]) -> bool | None:
    """Return True or False if the lists decide whether a name takes the article, else None."""
    if words[-1] in _TEAMS and 2 <= len(words) <= 3 and not any(map(str.islower, words)):
        return True
    if _HAS_ARTICLE.match(label):
        return False
    if label in _KNOWN or label.replace(".", "") in _SPELLED:
        return True
    if words[-1] in _MONEY:
        # Not an amount: 20 pounds sterling.
        return not words[0][0].isdigit()
    return False if words[0] in _BARE_FIRST or label in _BARE else None


def _noun_precedes(words: Sequence[str], place: int) -> bool:
    """Return True if a common noun of the name precedes the preposition at a place."""
    # After a comma or a bracket, the noun belongs to an explanation of the name: Albert, Duke of York.
    before = " ".join(words[:place])
    nouns = _NOUNS if words[place] in ("in", "at") else _NOUNS_OF
    return words[place - 1] in nouns and "(" not in before and ("," not in before or " and " in before)


def _ends_in_noun(label: str, words: Sequence[str]) -> bool:
    # One word alone proves nothing: Union is a town in Ohio. After a colon or a comma comes another name.
    if len(words) == 1 or re.search(r"[:,]|\s[-–]\s", label):
        return False
    if _LAST_TWO.search(" ".join(words[-2:])):
        return True
    if words[-1] in _SMALL_NOUNS:
        return not label[0].islower() and not words[0].endswith(("'s", "’s"))
    # Charlie Wilson's War, but the People's Republic.
    return words[-1] in _NOUNS and not (words[-1] == "War" and words[-2].endswith(("'s", "’s")))


def without_article(label: str) -> str:
    """Return a name without its initial ``the``, to be placed after a determiner."""
    return re.sub(r"^[Tt]he\s+", "", label)
