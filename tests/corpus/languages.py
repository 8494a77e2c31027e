"""Tables in many languages, of realistic size: what encodings are told apart by."""

from __future__ import annotations

import random
from typing import NamedTuple


class Language(NamedTuple):
    """Words of a language, as tables of towns, people and budgets have them, and sentences as remarks do."""

    header: tuple[str, ...]
    places: str
    names: str
    kinds: str
    remarks: tuple[str, ...]


RUSSIAN = Language(
    ("Код", "Город", "Область", "Население", "Год", "Вид учреждения", "Примечание"),
    "Москва Санкт-Петербург Новосибирск Екатеринбург Казань Челябинск Самара Омск Ростов Уфа Красноярск "
    "Воронеж Пермь "
    "Волгоград Краснодар Саратов Тюмень Тольятти Ижевск Барнаул Ульяновск Иркутск Хабаровск Ярославль Владивосток",
    "Иванов Смирнов Кузнецова Попов Васильева Петров Соколова Михайлов Новикова Фёдоров Морозова Волков Алексеев",
    "школа библиотека больница музей театр парк стадион поликлиника университет",
    (
        "Данные приведены по состоянию на начало года",
        "Учреждение закрыто на капитальный ремонт",
        "По данным Федеральной службы государственной статистики",
    ),
)
UKRAINIAN = Language(
    ("Код", "Місто", "Область", "Населення", "Рік", "Тип закладу", "Примітка"),
    "Київ Харків Одеса Дніпро Донецьк Запоріжжя Львів Миколаїв Вінниця Херсон Полтава Чернігів Черкаси Хмельницький "
    "Житомир Суми Рівне Кропивницький Тернопіль Ужгород Луцьк Чернівці Івано-Франківськ Біла Церква Кам'янське",
    "Шевченко Бондаренко Ткаченко Кравчук Олійник Лисенко Поліщук Савченко Марченко Мельник Ковальчук Бойко",
    "школа бібліотека лікарня музей театр парк стадіон поліклініка університет",
    ("Дані наведено станом на початок року", "Заклад зачинено на капітальний ремонт", "За даними служби статистики"),
)
BULGARIAN = Language(
    ("Код", "Град", "Област", "Население", "Година", "Вид", "Забележка"),
    "София Пловдив Варна Бургас Русе Стара Загора Плевен Сливен Добрич Шумен Перник Хасково Ямбол Пазарджик "
    "Благоевград Велико Търново Враца Габрово Асеновград Видин Казанлък Кърджали Кюстендил Монтана Димитровград",
    "Иванова Георгиев Димитрова Петров Николова Стоянов Тодорова Христов Ангелова Йорданов Желева Щерев",
    "училище библиотека болница музей театър парк стадион поликлиника университет",
    ("Данните са към началото на годината", "Сградата е затворена за основен ремонт", "По данни на статистиката"),
)
POLISH = Language(
    ("Kod", "Miasto", "Województwo", "Ludność", "Rok", "Rodzaj placówki", "Uwagi"),
    "Warszawa Kraków Łódź Wrocław Poznań Gdańsk Szczecin Bydgoszcz Lublin Białystok Katowice Gdynia "
    "Częstochowa Radom "
    "Toruń Sosnowiec Kielce Rzeszów Gliwice Zabrze Olsztyn Bielsko-Biała Bytom Zielona Góra Rybnik Świętochłowice",
    "Kowalski Wiśniewska Wójcik Kamińska Lewandowski Zieliński Szymańska Woźniak Dąbrowski Kozłowska Jabłoński Król",
    "szkoła biblioteka szpital muzeum teatr park stadion przychodnia uczelnia żłobek",
    ("Dane według stanu na początek roku", "Placówka zamknięta z powodu remontu", "Źródło: Główny Urząd Statystyczny"),
)
CZECH = Language(
    ("Kód", "Město", "Kraj", "Počet obyvatel", "Rok", "Druh zařízení", "Poznámka"),
    "Praha Brno Ostrava Plzeň Liberec Olomouc České Budějovice Hradec Králové Ústí Pardubice Zlín Havířov "
    "Kladno Most "
    "Opava Frýdek-Místek Karviná Jihlava Teplice Děčín Karlovy Vary Chomutov Přerov Jablonec Mladá Boleslav Třebíč",
    "Novák Svobodová Novotný Dvořáková Černý Procházka Kučerová Veselý Horáková Němec Pokorná Růžička Šťastný",
    "škola knihovna nemocnice muzeum divadlo park stadion poliklinika univerzita",
    ("Údaje podle stavu na začátku roku", "Zařízení je uzavřeno kvůli opravě střechy", "Zdroj: Český statistický úřad"),
)
HUNGARIAN = Language(
    ("Kód", "Város", "Megye", "Népesség", "Év", "Intézmény", "Megjegyzés"),
    "Budapest Debrecen Szeged Miskolc Pécs Győr Nyíregyháza Kecskemét Székesfehérvár Szombathely Szolnok "
    "Érd Tatabánya "
    "Sopron Kaposvár Békéscsaba Veszprém Zalaegerszeg Eger Nagykanizsa Dunaújváros Hódmezővásárhely Gödöllő Vác",
    "Nagy Kovács Tóth Szabó Horváth Varga Kiss Molnár Németh Farkas Balogh Papp Takács Juhász Lakatos Mészáros Szűcs",
    "iskola könyvtár kórház múzeum színház park stadion rendelőintézet egyetem óvoda",
    ("Az adatok az év elejére vonatkoznak", "Az épület felújítás miatt zárva", "Forrás: Központi Statisztikai Hivatal"),
)
GREEK = Language(
    ("Κωδικός", "Πόλη", "Περιφέρεια", "Πληθυσμός", "Έτος", "Είδος", "Παρατηρήσεις"),
    "Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Τρίκαλα Χαλκίδα Σέρρες Αλεξανδρούπολη Ξάνθη Κατερίνη "
    "Καλαμάτα Καβάλα Χανιά Λαμία Κομοτηνή Ρόδος Αγρίνιο Δράμα Βέροια Κοζάνη Καρδίτσα Κόρινθος Ρέθυμνο Πτολεμαΐδα",
    "Παπαδόπουλος Γεωργίου Νικολάου Δημητρίου Ιωάννου Οικονόμου Βασιλείου Αντωνίου Χριστοδούλου Αθανασίου",
    "σχολείο βιβλιοθήκη νοσοκομείο μουσείο θέατρο πάρκο στάδιο ιατρείο πανεπιστήμιο",
    ("Τα στοιχεία αφορούν την αρχή του έτους", "Το κτίριο παραμένει κλειστό", "Πηγή: Ελληνική Στατιστική Αρχή"),
)
TURKISH = Language(
    ("Kod", "Şehir", "Bölge", "Nüfus", "Yıl", "Kurum türü", "Açıklama"),
    "İstanbul Ankara İzmir Bursa Adana Gaziantep Konya Antalya Kayseri Mersin Eskişehir Diyarbakır Samsun Denizli "
    "Şanlıurfa Adapazarı Malatya Kahramanmaraş Erzurum Van Batman Elazığ İzmit Manisa Sivas Gebze Balıkesir Tarsus "
    "Kütahya Trabzon Çorum Çorlu Osmaniye Kırıkkale Antakya Aydın İskenderun Uşak Aksaray Muğla Iğdır Ağrı",
    "Yılmaz Kaya Demir Şahin Çelik Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt",
    "okul kütüphane hastane müze tiyatro park stadyum poliklinik üniversite çocuk bahçesi",
    ("Veriler yıl başı itibarıyladır", "Bina onarım nedeniyle kapalıdır", "Kaynak: Türkiye İstatistik Kurumu"),
)
GERMAN = Language(
    ("Nr", "Gemeinde", "Kreis", "Einwohner", "Jahr", "Art der Einrichtung", "Bemerkung"),
    "München Köln Düsseldorf Nürnberg Münster Saarbrücken Lübeck Würzburg Tübingen Göttingen Gießen "
    "Weißenfels Görlitz "
    "Osnabrück Mönchengladbach Fürth Neuss Lüneburg Völklingen Güstrow Plön Eutin Bonn Ulm Kiel Trier Hof Bad Tölz",
    "Müller Schröder Köhler König Günther Krüger Böhm Jäger Weiß Groß Schäfer Lange Busch Kühn Vogt Förster",
    "Schule Bücherei Krankenhaus Museum Theater Park Stadion Ärztehaus Universität",
    ("Stand zu Beginn des Jahres", "Das Gebäude ist wegen Umbaus geschlossen", "Quelle: Statistisches Bundesamt"),
)
FRENCH = Language(
    ("Code", "Ville", "Département", "Population", "Année", "Type d'établissement", "Remarque"),
    "Orléans Besançon Nîmes Béziers Saint-Étienne Évreux Angoulême Chambéry Mâcon Châteauroux Épinal Alès "
    "Sète Thiers "
    "Fréjus Montélimar Périgueux Compiègne Chalon Nevers Bourges Troyes Amiens Brest Caen Dijon Laval Lyon Metz",
    "Lefèvre André Müller François Rousseau Gérard Chevalier Légrand Bérenger Éluard Noël Benoît Garçon Hébert",
    "école bibliothèque hôpital musée théâtre parc stade clinique université",
    ("Données arrêtées au début de l'année", "Bâtiment fermé pour travaux", "Source : relevé général de la région"),
)
JAPANESE = Language(
    ("番号", "市町村", "都道府県", "人口", "年", "施設の種類", "備考"),
    "札幌市 仙台市 さいたま市 千葉市 横浜市 川崎市 相模原市 新潟市 静岡市 浜松市 名古屋市 京都市 大阪市 "
    "堺市 神戸市 岡山市 広島市 "
    "北九州市 福岡市 熊本市 つくば市 ひたちなか市 函館市 青森市 盛岡市 秋田市 山形市 郡山市 宇都宮市 "
    "前橋市 富山市 金沢市",
    "佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 斎藤 清水",
    "学校 図書館 病院 博物館 劇場 公園 スタジアム 診療所 大学 保育園",
    ("年初のデータに基づく", "改修工事のため休館しています", "出典は総務省統計局の国勢調査です"),
)
CHINESE = Language(
    ("编号", "城市", "省份", "人口", "年份", "机构类型", "备注"),
    "北京 上海 广州 深圳 成都 重庆 杭州 武汉 西安 苏州 天津 南京 长沙 郑州 东莞 青岛 沈阳 宁波 昆明 无锡 "
    "佛山 合肥 大连 福州 厦门 "
    "哈尔滨 济南 温州 南宁 长春 泉州 石家庄 贵阳 南昌 金华 常州 惠州 嘉兴 南通 徐州 太原 珠海 中山 保定 "
    "兰州 台州 绍兴 烟台",
    "王伟 李娜 张敏 刘洋 陈静 杨勇 赵磊 黄艳 周杰 吴涛 徐明 孙丽 马超 朱军 胡霞 郭强 何平 林峰",
    "学校 图书馆 医院 博物馆 剧院 公园 体育场 门诊部 大学 幼儿园",
    ("数据截至年初", "该机构因装修暂停开放", "资料来源为国家统计局人口普查"),
)
TAIWANESE = Language(
    ("編號", "城市", "縣市", "人口", "年份", "機構類型", "備註"),
    "臺北市 新北市 桃園市 臺中市 臺南市 高雄市 基隆市 新竹市 嘉義市 宜蘭縣 苗栗縣 彰化縣 南投縣 雲林縣 "
    "屏東縣 花蓮縣 臺東縣 澎湖縣 "
    "金門縣 板橋區 三重區 中壢區 豐原區 鳳山區 淡水區 羅東鎮 竹北市 斗六市 員林市 頭份市",
    "陳怡君 林志明 黃淑芬 張家豪 李雅婷 王俊傑 吳美玲 劉建宏 蔡佩珊 楊宗翰 許惠雯 鄭文彬 謝欣怡",
    "學校 圖書館 醫院 博物館 劇院 公園 體育場 診所 大學 幼兒園",
    ("資料統計至年初", "該機構因整修暫停開放", "資料來源為內政部戶政司統計"),
)
KOREAN = Language(
    ("번호", "도시", "시도", "인구", "연도", "시설 종류", "비고"),
    "서울특별시 부산광역시 대구광역시 인천광역시 광주광역시 대전광역시 울산광역시 수원시 창원시 고양시 "
    "용인시 성남시 청주시 부천시 "
    "화성시 남양주시 전주시 천안시 안산시 안양시 김해시 평택시 포항시 제주시 시흥시 파주시 의정부시 "
    "구미시 춘천시 강릉시",
    "김민수 이서연 박지훈 최유진 정현우 강수빈 조은지 윤도현 장미경 임재범 한지민 오세훈 서영희",
    "학교 도서관 병원 박물관 극장 공원 경기장 보건소 대학교 어린이집",
    ("연초 기준 자료입니다", "보수 공사로 인하여 휴관합니다", "출처는 통계청 인구 총조사입니다"),
)

HEBREW = Language(
    ("קוד", "עיר", "מחוז", "אוכלוסייה", "שנה", "סוג המוסד", "הערה"),
    "ירושלים חיפה אשדוד נתניה באר-שבע חולון רמת-גן אשקלון רחובות בת-ים הרצליה חדרה מודיעין נצרת רעננה "
    "לוד רמלה כפר-סבא נהריה אילת טבריה עכו צפת דימונה עפולה כרמיאל יבנה",
    "כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן אגבריה מלכה אזולאי כץ יוסף דוד עמר אוחיון",
    "ספרייה מוזיאון תיאטרון פארק אצטדיון מרפאה אוניברסיטה גן",
    ("הנתונים נכונים לתחילת השנה", "המוסד סגור לרגל שיפוצים", "מקור: הלשכה המרכזית לסטטיסטיקה"),
)
ARABIC = Language(
    ("الرمز", "المدينة", "المحافظة", "السكان", "السنة", "نوع المؤسسة", "ملاحظة"),
    "القاهرة الإسكندرية الجيزة بورسعيد السويس الأقصر أسوان طنطا الإسماعيلية الفيوم دمياط المنيا بنها قنا سوهاج "
    "الرياض جدة الدمام بغداد البصرة الموصل دمشق حلب حمص بيروت طرابلس عمان إربد الخرطوم تونس صفاقس الجزائر وهران",
    "محمد أحمد حسن علي إبراهيم خالد يوسف عمر مصطفى عبدالله فاطمة زينب مريم سعيد",
    "مدرسة مكتبة مستشفى متحف مسرح حديقة ملعب عيادة جامعة",
    ("البيانات حتى بداية السنة", "المبنى مغلق بسبب أعمال الترميم", "المصدر: الجهاز المركزي للإحصاء"),
)
THAI = Language(
    ("รหัส", "เมือง", "จังหวัด", "ประชากร", "ปี", "ประเภท", "หมายเหตุ"),
    "กรุงเทพ เชียงใหม่ ภูเก็ต ขอนแก่น นครราชสีมา หาดใหญ่ อุดรธานี ชลบุรี สุราษฎร์ธานี นครสวรรค์ พิษณุโลก ระยอง ลำปาง "
    "เชียงราย อุบลราชธานี สงขลา ตรัง ยะลา นนทบุรี สมุทรปราการ เพชรบุรี ราชบุรี กาญจนบุรี ลพบุรี อยุธยา",
    "สมชาย สมหญิง ประเสริฐ วิชัย มาลี สุดา ณรงค์ อรุณ กมล พรทิพย์",
    "โรงเรียน ห้องสมุด โรงพยาบาล พิพิธภัณฑ์ โรงละคร สวนสาธารณะ สนามกีฬา คลินิก มหาวิทยาลัย",
    ("ข้อมูล ณ ต้นปี", "อาคารปิดปรับปรุงชั่วคราว", "ที่มา: สำนักงานสถิติแห่งชาติ"),
)
SPANISH = Language(
    ("Código", "Ciudad", "Región", "Población", "Año", "Tipo de institución", "Observación"),
    "Málaga Córdoba Cádiz Jaén Almería Logroño Ávila León Gijón Avilés Cáceres Mérida Alcalá Coruña Sevilla Madrid "
    "Valencia Bilbao Murcia Vigo Elche Oviedo Granada Sabadell Móstoles Leganés Getafe Castellón Éibar Úbeda Cataluña",
    "José Peña Muñoz Núñez Ibáñez García López Martínez Sánchez Pérez Gómez Jiménez Álvarez Íñigo Ramón Begoña",
    "escuela biblioteca hospital museo teatro parque estadio clínica universidad jardín",
    ("Datos al comienzo del año", "Edificio cerrado por reparación", "Fuente: Instituto Nacional de Estadística"),
)

ENCODED: dict[str, tuple[Language, ...]] = {
    "cp1251": (RUSSIAN, UKRAINIAN, BULGARIAN),
    "koi8-r": (RUSSIAN,),
    "cp866": (RUSSIAN,),
    "cp1250": (POLISH, CZECH, HUNGARIAN),
    "iso8859-2": (POLISH, CZECH, HUNGARIAN),
    "cp1253": (GREEK,),
    "cp1254": (TURKISH,),
    "cp1252": (GERMAN, FRENCH, SPANISH),
    "cp850": (GERMAN, FRENCH),
    "cp1255": (HEBREW,),
    "cp1256": (ARABIC,),
    "cp874": (THAI,),
    "shift_jis": (JAPANESE,),
    "euc_jp": (JAPANESE,),
    "gb18030": (CHINESE,),
    "big5": (TAIWANESE,),
    "euc_kr": (KOREAN,),
}
"""Encodings, each with languages that are written in it."""

LANGUAGES = (RUSSIAN, UKRAINIAN, BULGARIAN, POLISH, CZECH, HUNGARIAN, GREEK, TURKISH, GERMAN, FRENCH, JAPANESE, CHINESE)
UNICODE = (*LANGUAGES, TAIWANESE, KOREAN, HEBREW, ARABIC, THAI)


def table(language: Language, rows: int, delimiter: str = ";", seed: int = 7) -> str:
    """Return a table in a language as delimited text: towns with a region, numbers, a kind, a name and a remark."""
    dice = random.Random(seed)
    places, names, kinds = (words.split() for words in (language.places, language.names, language.kinds))
    lines = [delimiter.join(language.header)]
    for number in range(1, rows + 1):
        remark = dice.choice([*language.remarks, "", "", dice.choice(names)])
        cells = (
            str(number),
            dice.choice(places),
            dice.choice(places),
            str(dice.randint(800, 900_000)),
            str(dice.randint(1990, 2024)),
            dice.choice(kinds),
            remark,
        )
        lines.append(delimiter.join(cells))
    return "\r\n".join(lines) + "\r\n"
