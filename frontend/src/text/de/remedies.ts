/** What to do about it, where the board itself says it in English only. */
export const remedies = {
  'remedy_no-driver':
    'Den NVIDIA-Treiber installieren und laden (modprobe nvidia); ein neuer Kernel braucht vielleicht ein neu gebautes Modul.',
  'remedy_no-devices':
    'Prüfen, ob die GPU steckt, Strom hat und nicht an eine virtuelle Maschine gereicht ist (lspci, dmesg).',
  'remedy_driver-mismatch':
    'Neu starten, oder alles auf den GPUs beenden und das Modul neu laden (rmmod nvidia_uvm nvidia).',
  'remedy_driver-hung':
    'In dmesg nach Xid-Fehlern sehen; ein hängender Treiber braucht meist einen Neustart.',
  'remedy_driver-error': 'In dmesg nach Xid-Fehlern sehen; einen Container neu starten.',
  'remedy_no-permission':
    'Diesem Benutzer Zugriff auf /dev/nvidia* geben (oft die Gruppe video oder render), oder als root laufen.',
  'remedy_gpu-lost':
    'Neu starten; fällt sie wieder ab, Strom, Sitz und Temperatur prüfen und dmesg auf Xid 79 ansehen.',
  'remedy_gpu-needs-reset':
    'Ihre Prozesse beenden und als root nvidia-smi --gpu-reset ausführen, oder neu starten.',
  'remedy_gpus-missing':
    'Siehe das Problem jeder fehlenden GPU; eine ausgebaute ist nach dem nächsten Start vergessen.',
  'remedy_ecc-uncorrected':
    'Ergebnisse von ihr können falsch sein: zurücksetzen, und bei neuen Fehlern tauschen lassen.',
  'remedy_sensor-error':
    'So zeigt sich ein defekter Lüfter oder Sensor; fehlen mehr Werte, in dmesg nach Xid-Fehlern sehen.',
  'remedy_truncated-output':
    'Die nächste Messung sollte ganz sein; sonst prüfen, ob der Befehl abgebrochen wird oder die Platte voll ist.',
  'remedy_unreadable-output':
    'nvidia-smi von Hand ausführen und vergleichen; ein Wrapper oder ein sehr neuer Treiber kann sie verändert haben.',
  'remedy_unattributed-process':
    'Vielleicht hat sich gerade eine MIG-Instanz geändert: nvidia-smi -L zeigt sie.',
  'remedy_no-device-access':
    'Einen Container neu starten (mit --gpus); sonst nvidia-modprobe ausführen und /dev/nvidia* prüfen.',
  'remedy_slow-driver':
    'Persistenzmodus einschalten: nvidia-smi -pm 1 als root, oder der Dienst nvidia-persistenced.',
  'remedy_vendor-unreadable':
    'Den Treiber dieses Herstellers in Ordnung bringen; was ihm fehlt, steht hinter dem Doppelpunkt.',
  'remedy_report-too-large':
    'Sonst geht nichts verloren; nachsehen, welche Prozesse oder Probleme so viele oder so lang sind.',
  'remedy_too-many-gpus':
    'Gezeigt werden die ersten; die übrigen werden weder gezählt noch als frei angeboten.',
  'remedy_gpus-unrecorded':
    'Gezeigt werden alle; im Verlauf fehlen die neuesten. Nach dreißig Tagen ist wieder Platz.',
  'remedy_too-many-processes': 'Gezeigt werden die mit dem meisten Speicher.',
  'remedy_disk-hung': 'Mit df und dmesg suchen; ein hängendes Laufwerk braucht meist einen Neustart.',
  'remedy_processes-hung':
    'Dort ps aux und getent passwd versuchen; ein Verzeichnisdienst (LDAP) kann ausgefallen sein.',
  'remedy_duplicate-gpu':
    'Ist es eine Maschine unter zwei Namen, eine aus ihrer Quelle nehmen; sonst prüfen, welcher Knoten lügt.',
  'remedy_duplicate-node':
    'Den Knoten aus einer der beiden Quellen nehmen, oder den Maschinen verschiedene Namen geben.',
  'remedy_no-process-ids': 'Mit gpustat -pcu schreiben.',
  'remedy_clock-off':
    'Die Uhr stellen, am besten über NTP (timedatectl set-ntp true); bis dahin berichtigt die Tafel die Zeiten.',
  'remedy_file-owner':
    'Hat niemand den Auftrag, der sie schreibt, zu einem anderen Konto verlegt: herausfinden, wer es ist; chmod +t auf dem Ordner hindert andere daran, fremde Dateien zu ersetzen.',
  'remedy_gpu-missing':
    'Mit nvidia-smi und dmesg (Xid 79) suchen und neu starten; eine ausgebaute Karte wird mit der Zeit vergessen (forget_after), oder sofort mit gpuboard node forget.',
  'remedy_gpu-replaced':
    'Nichts, wenn jemand die Karte gewechselt hat; Buchungen dieser Nummer gelten für die neue.',
  'remedy_gpu-renumbered':
    'Buchungen gelten für Nummern und damit jetzt für andere Karten: denen Bescheid geben, die gebucht haben, und neu buchen; einen Tag lang gilt keine Karte als frei, deren frühere Nummer gebucht ist.',
  'remedy_numbers-moved':
    'Den Knoten UUIDs nennen lassen (Agent, ssh, gpustat --json), damit jede Karte ihre Nummer behält; die alten Nummern werden mit der Zeit vergessen (forget_after), oder sofort mit gpuboard node forget.',
  'remedy_second-file': 'Herausfinden, wer sie schreibt, und die falsche entfernen.',
  'remedy_unknown-age':
    'Sie nennen Ortszeiten: HOST_status.csv mit der Zeile von uptime sagt, welche. Mit der nächsten neuen Zeile weiß es eine laufende Tafel.',
  'remedy_unreadable-file':
    'Den Befehl, der sie schreibt, als derselbe Benutzer von Hand ausführen; prüfen, ob die Platte voll ist.',
  remedy_xid:
    'Die Nummer in NVIDIAs Liste der Xid-Fehler nachschlagen; die GPU zurücksetzen oder neu starten und sehen, ob er wiederkommt.',
  'remedy_token-shared':
    'Laufen beide auf dieser Maschine, einen anhalten; sonst den Knoten auf der Maschine, die er ist, neu anmelden (gpuboard node enroll), das beendet das alte Token; die andere unter einem eigenen Namen anmelden.',
  'remedy_silent-push':
    'Nachsehen, ob der Knoten läuft, und auf ihm der Agent: systemctl status gpuboard-agent, journalctl -u gpuboard-agent.',
  'remedy_silent-ssh':
    'Nachsehen, ob der Knoten läuft und sein Treiber antwortet: als Benutzer der Tafel ssh HOST nvidia-smi.',
  'remedy_silent-pull':
    'Nachsehen, ob der Knoten läuft, auf ihm der Agent, und ob die Tafel seinen Port erreicht: curl http://HOST:PORT/healthz (mit tls = true https:).',
  'remedy_silent-folder':
    'Auf dem Knoten nachsehen, ob der Auftrag noch läuft, der sie schreibt (crontab -l oder systemctl status gpuboard-agent), und ob der Ordner dort eingehängt und nicht voll ist.',
  'remedy_silent-local': 'Das Protokoll der Tafel ansehen, und was gpuboard doctor dort sagt.',
  'remedy_silent-simulated':
    'Nichts: er zeigt, wie ein stummer Knoten aussieht; bei einem echten steht hier, wo man nachsieht.',
  'remedy_not-listed':
    'Nichts, wenn er weggenommen wurde: er wird mit der Zeit vergessen (forget_after), sofort mit gpuboard node forget; sonst ihn wieder in die Liste setzen, oder nachsehen, warum seine Datei nicht mehr im Ordner liegt.',
};
