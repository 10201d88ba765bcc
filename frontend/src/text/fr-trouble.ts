import type { TroubleWords } from './language.svelte';

export const trouble: TroubleWords = {
  'problem_no-driver': 'Aucun pilote NVIDIA n’est actif ici',
  'problem_no-devices': 'Le pilote NVIDIA est actif mais ne voit aucun GPU',
  'problem_driver-mismatch':
    'La bibliothèque du pilote et son module noyau chargé ont des versions différentes',
  'problem_driver-hung': 'Le pilote ne répond pas',
  'problem_driver-error': 'Le pilote a répondu par une erreur',
  'problem_no-permission': 'Le pilote refuse de répondre à cet utilisateur',
  'problem_gpu-lost': 'Un GPU a disparu du bus',
  'problem_gpu-needs-reset': 'Le GPU doit être réinitialisé avant de resservir',
  'problem_gpus-missing': 'Tous les GPU ne répondent pas',
  'problem_ecc-uncorrected': 'La mémoire du GPU a eu des erreurs impossibles à corriger',
  'problem_sensor-error': 'Le GPU ne peut pas donner certaines de ses valeurs',
  'problem_truncated-output': 'La sortie s’arrête au milieu',
  'problem_unreadable-output': 'La sortie n’est pas ce qu’écrit nvidia-smi',
  'problem_unattributed-process': 'Un processus tourne sur un périphérique absent de la liste',
  'problem_no-device-access': 'Le pilote est actif, mais ses périphériques ne peuvent être ouverts d’ici',
  'problem_slow-driver': 'Le pilote met des secondes à répondre',
  'problem_too-many-processes': 'Il y a plus de processus sur les GPU qu’un rapport ne peut en contenir',
  'problem_disk-hung': 'Un disque ne répond pas : on ne sait donc rien des GPU non plus',
  'problem_processes-hung':
    'La liste des processus ou des utilisateurs ne répond pas : on ne sait donc rien des GPU non plus',
  'problem_no-process-ids': 'Le fichier nomme des processus sans leur numéro : on omet donc à qui ils sont',
  'remedy_no-driver':
    'Installer le pilote NVIDIA et le charger (modprobe nvidia) ; un nouveau noyau peut exiger de recompiler son module.',
  'remedy_no-devices':
    'Vérifier que le GPU est enfiché, alimenté et non passé à une machine virtuelle (lspci, dmesg).',
  'remedy_driver-mismatch':
    'Redémarrer, ou arrêter tout sur les GPU et recharger le module (rmmod nvidia_uvm nvidia).',
  'remedy_driver-hung':
    'Chercher des erreurs Xid dans dmesg ; un pilote bloqué demande le plus souvent un redémarrage.',
  'remedy_driver-error': 'Chercher des erreurs Xid dans dmesg ; dans un conteneur, le redémarrer.',
  'remedy_no-permission':
    'Donner à cet utilisateur accès à /dev/nvidia* (souvent le groupe video ou render), ou lancer en root.',
  'remedy_gpu-lost':
    'Redémarrer ; si cela revient, vérifier alimentation, contact et température, et Xid 79 dans dmesg.',
  'remedy_gpu-needs-reset': 'Arrêter ses processus et lancer nvidia-smi --gpu-reset en root, ou redémarrer.',
  'remedy_gpus-missing':
    'Voir le problème de chaque GPU manquant ; un GPU retiré est oublié au prochain démarrage.',
  'remedy_ecc-uncorrected':
    'Ses résultats peuvent être faux : le réinitialiser, et le faire remplacer si les erreurs reviennent.',
  'remedy_sensor-error':
    'Un ventilateur ou capteur défectueux se montre ainsi ; si d’autres valeurs manquent, chercher des erreurs Xid dans dmesg.',
  'remedy_truncated-output':
    'Le prochain relevé devrait être entier ; sinon voir si la commande est tuée ou le disque plein.',
  'remedy_unreadable-output':
    'Lancer nvidia-smi à la main et comparer ; une surcouche ou un pilote très récent peut l’avoir changée.',
  'remedy_unattributed-process': 'Une instance MIG vient peut-être de changer : nvidia-smi -L les liste.',
  'remedy_no-device-access':
    'Dans un conteneur, le redémarrer (avec --gpus) ; ailleurs lancer nvidia-modprobe et vérifier /dev/nvidia*.',
  'remedy_slow-driver':
    'Activer le mode persistant : nvidia-smi -pm 1 en root, ou le service nvidia-persistenced.',
  'remedy_too-many-processes': 'On montre ceux qui ont le plus de mémoire.',
  'remedy_disk-hung':
    'Le trouver avec df et dmesg ; un disque bloqué demande le plus souvent un redémarrage.',
  'remedy_processes-hung':
    'Essayer là-bas ps aux et getent passwd ; un annuaire (LDAP) est peut-être en panne.',
  'remedy_duplicate-gpu':
    'Si c’est une machine sous deux noms, en retirer un de sa source ; sinon voir quel nœud ment.',
  'remedy_duplicate-node':
    'Retirer le nœud de l’une des deux sources, ou donner aux machines des noms différents.',
  'remedy_no-process-ids': 'L’écrire avec gpustat -pcu.',
  reason_left: 'Sa source ne le liste plus ; il sera oublié.',
  reason_timeout: 'Pas de réponse dans le temps prévu.',
  reason_silent: 'Le nœud s’est tu ; le tableau se reconnecte.',
  reason_unreachable: 'Le nœud est injoignable.',
  'reason_unknown-host': 'Ce nom n’a pas d’adresse.',
  'reason_connection-refused': 'Le nœud refuse les connexions.',
  'reason_connection-lost': 'La connexion au nœud a été perdue.',
  'reason_cut-off': 'La connexion a été coupée en cours de route.',
  'reason_auth-failed': 'Le nœud ne laisse pas entrer le tableau.',
  'reason_token-refused': 'L’agent refuse le jeton du tableau.',
  'reason_password-refused': 'L’agent refuse le mot de passe du tableau.',
  'reason_host-key-changed': 'La clé de la machine a changé : réinstallée, ou quelqu’un s’interpose.',
  'reason_host-key-unknown': 'Le tableau ne connaît pas la clé de la machine.',
  'reason_host-key-refused': 'La clé de la machine est refusée.',
  'reason_session-refused': 'Le nœud n’ouvre pas de session.',
  'reason_ssh-protocol': 'Impossible de parler ssh avec le nœud.',
  'reason_ssh-config': 'La configuration ssh de ce nœud est illisible.',
  'reason_key-unreadable': 'La clé pour ce nœud est illisible.',
  'reason_file-unreadable': 'Un fichier est illisible.',
  'reason_file-refused': 'Le fichier de ce nœud est illisible.',
  'reason_file-hung': 'Un fichier ne répond pas : son montage est bloqué.',
  'reason_folder-hung': 'Le dossier ne répond pas : son montage est bloqué.',
  'reason_folder-unreadable': 'Le dossier est illisible.',
  reason_certificate: 'Le certificat du nœud est refusé.',
  reason_tls: 'Pas de connexion TLS possible avec le nœud.',
  'reason_bad-report': 'Le nœud envoie un rapport qui n’en est pas un.',
  'reason_no-samples': 'La commande sur le nœud s’est arrêtée sans relevé.',
  reason_flood: 'Le nœud envoie beaucoup trop.',
  reason_replayed: 'Un ancien rapport a été renvoyé.',
  reason_frozen: 'L’agent répond, mais toujours avec les mêmes vieilles données.',
  'reason_not-ready': 'L’agent n’a pas encore de relevé.',
  'reason_not-an-agent': 'Quelque chose répond là, mais pas un agent.',
  reason_redirected: 'L’adresse mène ailleurs.',
  'reason_agent-ended': 'L’agent de cette machine s’est arrêté.',
  reason_internal: 'gpuboard lui-même a fait une erreur ici.',
};
