/** What can be wrong with a node, where the board itself says it in English only. */
export const trouble = {
  'problem_no-driver': 'Hier läuft kein NVIDIA-Treiber',
  'problem_no-devices': 'Der NVIDIA-Treiber läuft, sieht aber keine GPU',
  'problem_driver-mismatch': 'Bibliothek und geladenes Kernmodul des Treibers haben verschiedene Versionen',
  'problem_driver-hung': 'Der Treiber antwortet nicht',
  'problem_driver-error': 'Der Treiber hat mit einem Fehler geantwortet',
  'problem_no-permission': 'Der Treiber verweigert diesem Benutzer die Antwort',
  'problem_gpu-lost': 'Eine GPU ist vom Bus gefallen',
  'problem_gpu-needs-reset': 'Die GPU muss zurückgesetzt werden, bevor sie wieder arbeitet',
  'problem_gpus-missing': 'Nicht alle GPUs antworten',
  'problem_ecc-uncorrected': 'Im Speicher der GPU gab es Fehler, die sich nicht korrigieren ließen',
  'problem_sensor-error': 'Die GPU kann einige ihrer Werte nicht angeben',
  'problem_truncated-output': 'Die Ausgabe bricht mittendrin ab',
  'problem_unreadable-output': 'Die Ausgabe ist nicht das, was nvidia-smi schreibt',
  'problem_unattributed-process': 'Ein Prozess läuft auf einem Gerät, das nicht in der Liste steht',
  'problem_no-device-access': 'Der Treiber läuft, aber seine Geräte lassen sich von hier nicht öffnen',
  'problem_slow-driver': 'Der Treiber braucht Sekunden für eine Antwort',
  'problem_too-many-processes': 'Auf den GPUs laufen mehr Prozesse, als ein Bericht fasst',
  'problem_disk-hung': 'Ein Laufwerk antwortet nicht; darum ist auch von den GPUs nichts bekannt',
  'problem_processes-hung':
    'Die Liste der Prozesse oder Benutzer antwortet nicht; darum ist auch von den GPUs nichts bekannt',
  'problem_no-process-ids': 'Die Datei nennt Prozesse ohne ihre Nummern; wer sie sind, bleibt darum weg',
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
  'remedy_too-many-processes': 'Gezeigt werden die mit dem meisten Speicher.',
  'remedy_disk-hung': 'Mit df und dmesg suchen; ein hängendes Laufwerk braucht meist einen Neustart.',
  'remedy_processes-hung':
    'Dort ps aux und getent passwd versuchen; ein Verzeichnisdienst (LDAP) kann ausgefallen sein.',
  'remedy_duplicate-gpu':
    'Ist es eine Maschine unter zwei Namen, eine aus ihrer Quelle nehmen; sonst prüfen, welcher Knoten lügt.',
  'remedy_duplicate-node':
    'Den Knoten aus einer der beiden Quellen nehmen, oder den Maschinen verschiedene Namen geben.',
  'remedy_no-process-ids': 'Mit gpustat -pcu schreiben.',
  reason_left: 'Seine Quelle führt ihn nicht mehr; er wird vergessen.',
  reason_timeout: 'Keine Antwort in der erwarteten Zeit.',
  reason_silent: 'Der Knoten ist verstummt; die Tafel meldet sich neu an.',
  reason_unreachable: 'Der Knoten ist nicht zu erreichen.',
  'reason_unknown-host': 'Der Name hat keine Adresse.',
  'reason_connection-refused': 'Der Knoten lehnt Verbindungen ab.',
  'reason_connection-lost': 'Die Verbindung zum Knoten ging verloren.',
  'reason_cut-off': 'Die Verbindung brach mittendrin ab.',
  'reason_auth-failed': 'Der Knoten lässt die Tafel nicht hinein.',
  'reason_token-refused': 'Der Agent nimmt das Token der Tafel nicht an.',
  'reason_password-refused': 'Der Agent nimmt das Passwort der Tafel nicht an.',
  'reason_host-key-changed':
    'Der Schlüssel des Rechners hat sich geändert: neu installiert, oder jemand sitzt dazwischen.',
  'reason_host-key-unknown': 'Der Schlüssel des Rechners ist der Tafel nicht bekannt.',
  'reason_host-key-refused': 'Der Schlüssel des Rechners wird nicht angenommen.',
  'reason_session-refused': 'Der Knoten öffnet keine Sitzung.',
  'reason_ssh-protocol': 'Mit dem Knoten ist keine ssh-Verbindung möglich.',
  'reason_ssh-config': 'Die ssh-Konfiguration für diesen Knoten ist nicht lesbar.',
  'reason_key-unreadable': 'Der Schlüssel für diesen Knoten ist nicht lesbar.',
  'reason_file-unreadable': 'Eine Datei ist nicht lesbar.',
  'reason_file-refused': 'Die Datei dieses Knotens ist nicht lesbar.',
  'reason_file-hung': 'Eine Datei antwortet nicht: ihr Laufwerk hängt.',
  'reason_folder-hung': 'Der Ordner antwortet nicht: sein Laufwerk hängt.',
  'reason_folder-unreadable': 'Der Ordner ist nicht lesbar.',
  reason_certificate: 'Das Zertifikat des Knotens wird nicht angenommen.',
  reason_tls: 'Keine TLS-Verbindung mit dem Knoten möglich.',
  'reason_bad-report': 'Der Knoten schickt einen Bericht, der keiner ist.',
  'reason_no-samples': 'Der Befehl auf dem Knoten endete, ohne zu messen.',
  reason_flood: 'Der Knoten schickt viel zu viel.',
  reason_replayed: 'Ein alter Bericht wurde noch einmal geschickt.',
  reason_frozen: 'Der Agent antwortet, aber immer mit denselben alten Daten.',
  'reason_not-ready': 'Der Agent hat noch keine Messung.',
  'reason_not-an-agent': 'Dort antwortet etwas, aber kein Agent.',
  reason_redirected: 'Die Adresse führt woandershin.',
  'reason_agent-ended': 'Der Agent auf dieser Maschine hat aufgehört.',
  reason_internal: 'gpuboard selbst hat hier einen Fehler gemacht.',
};
