"""The definite article that English puts before some names: the Netherlands, the euro, the Danube, but France, Tokyo.

A graph does not hold a name's article, so it is told from the name's words, in this order:

1. A name that has an article keeps it as it is: The Hague, The Gambia, the Emirates, Los Angeles.
2. Names that are known to take one (plural countries, rivers, regions, some mountains), abbreviations that are read
   letter by letter (the EU, the UN), and units of money (the euro, the Swiss franc).
3. A common noun before *of* or *for*: the Republic of Korea, the Gulf of Mexico, the Association for Computing
   Machinery. After any other word these say nothing: Juliana of the Netherlands.
4. A common noun at the end, or *River* at the beginning: the Czech Republic, the Solomon Islands, the North Sea, the
   European Central Bank, the River Thames.

Everything else stays bare: persons, cities, languages, most countries, lakes, single mountains, abbreviations that are
read as words (NATO, ASEAN), Mexico City, Union City. What the words cannot tell goes wrong: a novel called Amazon, a
river that is not among the known ones and is not called River.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HAS_ARTICLE = re.compile(r"(?i)(?:the|an?|l[ae]s?|los|el|il|der|die|das|het)\s|l['’]")

_KNOWN = _words(
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
) | {"Rio Grande", "Río Grande", "Río de la Plata", "Rio Negro", "Benelux Union", "Côte d'Azur"}

_SPELLED = _words(
    "ADB ALP AU BBC BJP CAR CIA CIS CPSU CSTO DPRK DRC EC ECB EEA EEC EU FAO FBI FRG GCC GDR GOP IAEA IBRD ICC ICJ IFC "
    "ILO IMF IMO IOC ITU KGB KSA OAS OAU OECD OIC OSCE PRC PRI PSOE ROC ROK RSA SFRY UAE UK UN UNHCR US USA USSR WHO "
    "WMO WTO"
)

_MONEY = _words(
    "afghani ariary baht balboa birr bolívar boliviano cedi colón crown crowns córdoba dalasi denar dinar dirham dobra "
    "dollar dong đồng dram drachma escudo euro forint franc gourde guaraní guilder hryvnia kina kip koruna krona krone "
    "kroon króna kuna kwacha kwanza kyat lari lats lek lempira leone leu lev lilangeni lira litas loti manat mark "
    "markka metical nakfa naira ngultrum ouguiya paʻanga pataca peseta peso pound pula quetzal rand real renminbi "
    "rial riel ringgit riyal rouble ruble rufiyaa rupee rupiah schilling shekel shilling sol som somoni soum sterling "
    "taka tala tenge tolar tugrik tālā tögrög vatu won yen yuan zloty złoty"
)

_NOUNS = _words(
    "Academy Agency Alliance Archipelago Assembly Association Authority Bank Basin Bloc Board Caliphate Canal "
    "Channel Chamber Coast Colonies Commission Committee Commonwealth Community Confederation Conference Congress "
    "Convention Council Court Cross Delta Desert Duchy Dynasty Emirate Emirates Empire Falls Federation Forum "
    "Foundation Fund Group Gulf Highlands Initiative Institute Isles Islands Isthmus Kingdom Khanate League Library "
    "Market Massif Monarchy Mountains Movement Museum Nation Nations Navy Ocean Office Organisation Organization Pact "
    "Parliament Partnership Party Peninsula Plain Plains Plateau Pole Principality Protectorate Range Region Republic "
    "Republics Reserve River Sea Secretariat Senate Shogunate Society Sound Soviets States Strait Straits Sultanate "
    "Territories Territory Treaty Tribunal Tsardom Union Valley"
)
# These take the article only with "of": the Bay of Bengal but Hudson Bay, the City of London but Mexico City.
_NOUNS_OF = _NOUNS | _words(
    "Archbishopric Archdiocese Bailiwick Battle Bay Bishopric Bridge Cathedral Church City College County Crown "
    "Department Diocese District Faculty House Isle Island Lake Ministry Order Palace Prefecture Province School Sea "
    "Siege State Tower Town University Viceroyalty"
)
_PREPOSITIONS = frozenset({"of", "for", "on", "against"})
# Names that go without it in spite of their last word.
_BARE = frozenset({"Ivory Coast", "Cross River", "Western Union", "Oxford Union"})
# A last word that the noun's rule does not hold for, told by the first word.
_BARE_FIRST = _words("Lake Mount Mt Saint St St. Port Fort Cape Camp Loch Isla Mont Monte Pico Cerro")


def mention(label: str) -> str:
    """A name as it stands within an English sentence, with its article where it takes one."""
    return f"the {label}" if takes_article(label) else label


def takes_article(label: str) -> bool:
    """Whether English puts ``the`` before a name; no for one that has its article already."""
    words = label.split()
    if not words or _HAS_ARTICLE.match(label):
        return False
    if label in _KNOWN or label.replace(".", "") in _SPELLED or words[-1] in _MONEY:
        return True
    if words[0] in _BARE_FIRST or label in _BARE:
        return False
    if words[0] == "River" and len(words) > 1:
        return True
    place = next((place for place, word in enumerate(words) if place and word in _PREPOSITIONS), None)
    if place is not None:
        return words[place - 1] in _NOUNS_OF
    # One word alone is no sign: Union is a town in Ohio.
    return len(words) > 1 and words[-1] in _NOUNS


def without_article(label: str) -> str:
    """A name without the ``the`` that it begins with, for a place where one stands already."""
    return re.sub(r"^[Tt]he\s+", "", label)
