"""Words that names, places and phrases of a synthetic lake are made of."""

from __future__ import annotations

_TEXTS = {
    "given": """
    James Mary Muhammad Anna John Maria Robert Fatima Michael Elena David Olga William Sofia Thomas Ingrid
    Peter Laura José Zoë François Chloé Jürgen Käthe Søren Åsa Łukasz Małgorzata Ahmed Aisha Wei Yuki Ivan
    Natália Giovanni Giulia Hans Ursula Carlos Lucía Pierre Amélie Andreas Petra Daniel Sarah Joseph Emma
    Charles Olivia Christopher Mia Paul Hannah Mark Lena Steven Ella George Nina Kenneth Ida Lee Kim Brian
    Ruth Kevin Eva Γιώργος Ελένη Владимир Наталья 健太 さくら
    """,
    "family": """
    Smith Müller Nguyen García Johnson Schmidt Lee Martin Williams Schneider Kim Rossi Brown Fischer Singh
    Silva Jones Weber Chen López Miller Meyer Wang Dubois Davis Wagner Khan Novák Wilson Becker Ali Kowalski
    Anderson Schulz Yilmaz Andersson Taylor Hoffmann Tanaka Hansen Thomas Schäfer Ivanov Jensen Moore Koch
    Popescu Nagy Jackson Bauer Petrov Horvat White Richter Öztürk Peeters Harris Klein Papadopoulos Virtanen
    O'Brien Strauß Gonçalves Dvořák Παπαδόπουλος Иванов 田中 Clark Wolf Lewis Schröder Walker Neumann Hall
    Schwarz Young Zimmermann King Braun Wright Krüger Hill Hofmann
    """,
    "place": """
    London; Berlin; New York; Paris; Hamburg; Madrid; München; Roma; Springfield; Köln; Wien; Frankfurt am Main;
    Zürich; Warszawa; Bonn; Ulm; Los Angeles; Chicago; Stuttgart; Düsseldorf; Leipzig; Dresden; Hannover; Bremen;
    Nürnberg; São Paulo; Rio de Janeiro; Łódź; Malmö; San Francisco; Boston; Seattle; Houston; Sydney; Melbourne;
    Toronto; Montréal; Kraków; Praha; Budapest; Oslo; København; Helsinki; Göteborg; Lisboa; Porto; Sevilla; Málaga;
    Lyon; Marseille; Milano; Torino; Athens; Cairo; Lagos; Nairobi; Delhi; Mumbai; Beijing; Tokyo; 東京; Москва;
    Αθήνα; القاهرة; Saint-Étienne; Baden-Baden; Halle (Saale); Weißenburg; Gießen; Bad Homburg; Stratford-upon-Avon
    """,
    "country": """
    United States; Germany; France; United Kingdom; Spain; Italy; China; India; Brazil; Canada; Japan; Australia;
    Netherlands; Poland; Sweden; Austria; Switzerland; Belgium; Denmark; Norway; Finland; Ireland; Portugal; Greece;
    Czechia; Hungary; Romania; Bulgaria; Croatia; Serbia; Slovakia; Slovenia; Estonia; Latvia; Lithuania; Ukraine;
    Russia; Turkey; Israel; Egypt; Morocco; Tunisia; Algeria; Nigeria; Kenya; Ghana; Ethiopia; South Africa;
    Tanzania; Uganda; Mexico; Argentina; Chile; Peru; Colombia; Venezuela; Ecuador; Bolivia; Uruguay; Paraguay;
    Cuba; South Korea; Vietnam; Thailand; Indonesia; Malaysia; Philippines; Singapore; Pakistan; Bangladesh; Iran;
    Iraq; Saudi Arabia; Qatar; New Zealand; Iceland; Luxembourg; Malta; Cyprus; Côte d'Ivoire; Curaçao; Åland;
    Österreich; España; Ελλάδα; Россия; 日本; Papua New Guinea; Bosnia and Herzegovina; Trinidad and Tobago;
    Dominican Republic; Saint Kitts and Nevis; Central African Republic; Oman; Fiji; Eswatini
    """,
    "word": """
    total yes no other open closed male female active private public school road water building station park
    health service north south east west food market energy transport education housing culture sport music
    film book album single game team win loss draw final round red blue green white black primary secondary
    high low medium new old street bridge river forest bus rail bicycle tree bench light waste noise air
    soil property permit licence budget contract straße größe übrige café
    """,
}
KNOWN = {
    kind: [word.strip() for word in (text.split(";") if ";" in text else text.split())] for kind, text in _TEXTS.items()
}
"""The most frequent values of some kinds; the others of these kinds are made of the syllables below."""
_HEADS = """
    Ba Be Bro Ca Che Cla Da De Do Dra El Fa Fer Fi Fre Ga Gre Ha Hel Ho Il Ja Jo Ka Kel Kir Kra La Le Lin Lo
    Lu Ma Mar Mi Mo Mü Na Ne Nor Ol Pa Pe Pra Qua Ra Re Ro Sa Schwa Se Sta Ste Ta Tho Tri Ul Va Ve Wal We
    Wil Xa Yo Za Zim Ö Ål É Šte Świ Ñu
"""
_MIDDLES = """
    ba bel ca chi da den di do fa fen ga gi ha ja ka kel la len li lo lu ma men mi mo na nd ne ni no pa per
    po ra ren ri ro ru sa sch se si so sta ta ter ti to tra tu va ver vi wa xi ya za ze zo ü é ño łu žé
"""
HEADS, MIDDLES = _HEADS.split(), _MIDDLES.split()
_ENDS = {
    "family": "mann son ski sen ez er ov ova ini ić berg ström meier y ton bach ell qvist ard opoulos",
    "given": "a us ina ert o ette iel ara mir ie án ko",
    "place": "burg dorf ville ton stadt heim field ford by hausen bach au ow grad minster ó",
    "word": "ung tion e er ing al ik ment ar ness um ist el ation os ität",
}
ENDS = {kind: text.split() for kind, text in _ENDS.items()}
ENDS["place"] += [" Beach", " am See", "-sur-Mer", " Springs"]
COMPANIES = ["GmbH", "Ltd", "Inc.", "AG", "& Co.", "S.A.", "Group", "e.V.", "Stores", "und Söhne"]
