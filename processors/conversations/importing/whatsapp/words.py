"""The words, of each language, that tell a placeholder from speech where no other sign does.

A pair is read as "both stand in the text"; the second may be empty.
"""

from __future__ import annotations

Pairs = tuple[tuple[str, str], ...]


def _pairs(words: str) -> Pairs:
    pairs = (each.partition("+") for each in " ".join(words.split()).split(";") if each.strip())
    return tuple((one.strip(), other.strip()) for one, _, other in pairs)


#: "This message" and "deleted".
DELETED = _pairs(
    """
    this message + deleted; diese nachricht + gelöscht; este mensaje + elimin;
    este mensaje + borr; ce message + supprimé; mensagem + apag; esta mensagem + elimin;
    questo messaggio + eliminat; dit bericht + verwijderd; wiadomość + usun;
    сообщение + удал; повідомлення + видал; съобщение + изтри; порука + избрисан;
    bu mesaj + silin; bu mesaj + sildi; bu mesaj + silmi; الرسالة + حذف; پیام + حذف;
    پیغام + حذف; הודעה + נמחק; הודעה + מחקת; मैसेज + मिटा; संदेश + मिटा; संदेश + हटा;
    মেসেজ + মুছে; 消息 + 删除; 消息 + 刪除; 訊息 + 刪除; メッセージ + 削除; 메시지 + 삭제; ข้อความนี้ + ลบ;
    pesan ini + dihapus; menghapus + pesan ini; mesej ini + dipadam; tin nhắn này + xóa;
    meddelande + radera; denne besked + slette; beskeden + slettet;
    denne meldingen + slette; tämä viesti + poistet; tämän viestin + poistit;
    viesti + poistettiin; zpráva + odstraněn; zpráva + smazán; zprávu + odstranil;
    zprávu + smazal; správa + odstránen; správa + vymazan; správu + odstránil;
    üzenet + töröl; acest mesaj + șters; acest mesaj + şters; μήνυμα + διαγρά;
    μήνυμα + διέγραψ; ova poruka + izbrisan; poruku + izbrisali; to sporočilo + izbrisan;
    aquest missatge + suprim; aquest missatge + elimin;
    """
)

#: A message that has not arrived yet.
WAITING = _pairs(
    """
    waiting for this message; warte auf diese nachricht; esperando este mensaje;
    en attente de ce message; aguardando mensagem; aguardando esta mensagem;
    in attesa del messaggio; wachten op dit bericht; ожидание сообщения;
    bu mesaj bekleniyor; 在等此消息; 正在等待此消息;
    """
)

#: A missed call.
CALLS = _pairs(
    """
    missed + call; verpasst + anruf; perdida + llamada; appel + manqué; perdida + chamada;
    perdida + ligação; persa + chiamata; gemist + oproep; nieodebrane + połączenie;
    пропущен + звонок; пропущен + виклик; cevapsız + arama; فائتة + مكالمة;
    שיחה + שלא נענתה; 未接 + 通话; 未接 + 來電; 未接 + 来电; 未接 + 通話; 不在着信; 부재중 + 통화;
    부재중 + 전화;
    ไม่ได้รับสาย; สายที่ไม่ได้รับ; panggilan + tak terjawab; missat + samtal;
    mistet + opkald; tapt + anrop; vastaamaton + puhelu; zmeškaný + hovor;
    nem fogadott + hívás; apel + pierdut; αναπάντητη + κλήση; cuộc gọi + nhỡ; मिस्ड + कॉल;
    """
)
