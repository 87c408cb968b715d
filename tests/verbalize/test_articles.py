"""Which names take ``the``."""

import pytest

from kgprobe.verbalize.articles import mention, takes_article, without_article

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
Alps; Sahara; US; U.S.; USA; UK; UAE; EU; UN; USSR; euro; yen; Swiss franc; pound sterling; Brazilian real
"""
WITHOUT = """
France; Tokyo; Mexico City; Kansas City; Union City; Union; Vatican City; The Hague; The Gambia; the Netherlands
Los Angeles; La Paz; El Salvador; Papua New Guinea; Trinidad and Tobago; São Tomé and Príncipe
Saint Vincent and the Grenadines; South Africa; East Germany; Ivory Coast; Hudson Bay; Lake Geneva; Lake Victoria
Mount Everest; Mont Blanc; K2; NATO; ASEAN; OPEC; UNESCO; UNICEF; FIFA; BRICS; Interpol; Benelux; German
Haitian Creole; Standard Chinese; Barack Obama; Juliana of the Netherlands; Frederick IX of Denmark; Won; Port Louis
"""


def names(text: str) -> list[str]:
    return [name.strip() for line in text.strip().splitlines() for name in line.split(";")]


@pytest.mark.parametrize("name", names(WITH))
def test_with(name: str) -> None:
    assert mention(name) == f"the {name}"


@pytest.mark.parametrize("name", names(WITHOUT))
def test_without(name: str) -> None:
    assert mention(name) == name


def test_what_has_an_article_gets_no_second() -> None:
    for name in names(WITH):
        assert not takes_article(mention(name))


def test_nothing_takes_no_article() -> None:
    assert mention("") == ""


@pytest.mark.parametrize(
    ("name", "bare"), [("the euro", "euro"), ("The Hague", "Hague"), ("Thebes", "Thebes"), ("then there", "then there")]
)
def test_an_article_can_be_taken_off(name: str, bare: str) -> None:
    assert without_article(name) == bare
