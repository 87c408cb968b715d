"""Which names take ``the``."""

import csv
from pathlib import Path

import pytest

from kgprobe.verbalize.articles import indefinite, mention, takes_article, without_article

WITH = """
United States; United States of America; United Kingdom; United Arab Emirates; Netherlands; Philippines; Bahamas
Gambia; Maldives; Seychelles; Comoros; Czech Republic; Dominican Republic; Central African Republic
Democratic Republic of the Congo; Republic of Korea; People's Republic of China; Federated States of Micronesia
Solomon Islands; Marshall Islands; Isle of Man; Soviet Union; European Union; African Union; Arab League
League of Nations; Council of Europe; Commonwealth of Nations; Organization of American States
Organisation for Economic Co-operation and Development; International Court of Justice; World Bank
European Central Bank; Royal Society; Warsaw Pact; Republican Party; Communist Party of China; University of Oxford
Russian Federation; Grand Duchy of Luxembourg; Lao People's Democratic Republic; North Sea; Sea of Japan
Atlantic Ocean; English Channel; Gulf of Mexico; Bay of Bengal; Danube; Hudson River; River Thames; Río de la Plata
African, Caribbean and Pacific Group of States; Prime Minister of Japan; Constitution of France; Duke of York
1998 Winter Paralympics; 20th century; COVID-19 pandemic
1985 Seattle Seahawks season; 2016–17 Cypriot Third Division; Los Angeles Lakers
Chicago White Sox; Japan national football team; Ming dynasty; Bantu languages; Suceava–Roman railway; Korean War
Old Testament; Nobel Prize; World Cup; Red Cross; Supreme Court of Canada; European Court of Human Rights; High Court
Alps; Sahara; US; U.S.; USA; UK; UAE; EU; UN; USSR; euro; yen; Swiss franc; pound sterling; Brazilian real
English language; GNU General Public License
"""
WITHOUT = """
France; Tokyo; Mexico City; Kansas City; Union City; Union; Vatican City; The Hague; The Gambia; the Netherlands
Los Angeles; La Paz; El Salvador; Papua New Guinea; Trinidad and Tobago; São Tomé and Príncipe
Saint Vincent and the Grenadines; South Africa; East Germany; Ivory Coast; Hudson Bay; Lake Geneva; Lake Victoria
Mount Everest; Mont Blanc; K2; NATO; ASEAN; OPEC; UNESCO; UNICEF; FIFA; BRICS; Interpol; Benelux; German
Germany (also called Federal Republic of Germany)
Albert, Duke of York; Birkbeck, University of London; 1896 in Portugal; 2001: A Space Odyssey; 7890 Yasuofukui
Frank Ocean; David Cross; River Phoenix; Devereux Court; Canara Bank; Niagara Falls; Charlie Wilson's War
national football team; Bantu language; Antisemitism in the Soviet Union; athletics at the 2016 Summer Olympics
Haitian Creole; Standard Chinese; Barack Obama; Juliana of the Netherlands; Frederick IX of Denmark; Won; Port Louis
8100000 pounds sterling; 5 euro
"""


def names(text: str) -> list[str]:
    return [name.strip() for line in text.strip().splitlines() for name in line.split(";")]


def test_article_stands_before_names_that_take_one_once() -> None:
    assert [mention(name) for name in names(WITH)] == [f"the {name}" for name in names(WITH)]
    assert [name for name in names(WITHOUT) if mention(name) != name] == []
    assert not any(takes_article(mention(name)) for name in names(WITH))
    assert mention("") == ""


def test_articles_that_others_missed(shared_data: Path) -> None:
    """Names that sentences made by templates had without ``the``, and that people corrected."""
    missed = []
    with (shared_data / "distractors" / "verbalization_errors.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            parts = row["triples"].removeprefix("(").split(", start=")[0].split(", ")
            for error, name in (("sub_deter", parts[0]), ("obj_deter", parts[-1])):
                if error in row["errors"] and f"the {name}" in row["correction"].replace("The ", "the "):
                    missed.append(name)
    assert len(missed) > 30
    assert sum(map(takes_article, missed)) > 0.9 * len(missed)


@pytest.mark.parametrize(
    ("name", "bare"), [("the euro", "euro"), ("The Hague", "Hague"), ("Thebes", "Thebes"), ("then there", "then there")]
)
def test_article_can_be_taken_off(name: str, bare: str) -> None:
    assert without_article(name) == bare


AN = (
    "actor; hour; honest man; heir; MRI; FBI agent; X-ray; 80-page book; 11th; uninhabited island; urn; École; umbrella"
    "; F.C. Porto; S.S. Lazio; LGBT group; MSNBC host; honorary doctor; honour; uncle; ugly duckling; Ürümqi; Ukiah"
)
A = (
    "singer; union; university; European; user; one-way street; UN; NATO; utopia; house; 1 May; 110th; unicorn; yacht"
    "; Ukrainian; Ugandan; Utah; ukulele; UK citizen; UNESCO site; U.S. state; U2; Honolulu; TNT; B.C. Lions"
)


@pytest.mark.parametrize(("article", "texts"), [("an", AN), ("a", A)])
def test_indefinite_article(article: str, texts: str) -> None:
    assert {name: indefinite(name) for name in names(texts)} == dict.fromkeys(names(texts), article)
