import type { RemedyWords } from '../language.svelte';
import { tied } from './words';

export const remedies: RemedyWords = tied({
  'remedy_no-driver':
    'installer le pilote NVIDIA et le charger (modprobe nvidia) ; un nouveau noyau peut exiger de recompiler son module.',
  'remedy_no-devices':
    'vérifier que le GPU est enfiché, alimenté et non passé à une machine virtuelle (lspci, dmesg).',
  'remedy_driver-mismatch':
    'redémarrer, ou arrêter tout sur les GPU et recharger le module (rmmod nvidia_uvm nvidia).',
  'remedy_driver-hung':
    'chercher des erreurs Xid dans dmesg ; un pilote bloqué demande le plus souvent un redémarrage.',
  'remedy_driver-error': 'chercher des erreurs Xid dans dmesg ; dans un conteneur, le redémarrer.',
  'remedy_no-permission':
    'donner à cet utilisateur accès à /dev/nvidia* (souvent le groupe video ou render), ou lancer en root.',
  'remedy_gpu-lost':
    'redémarrer ; si cela revient, vérifier alimentation, contact et température, et Xid 79 dans dmesg.',
  'remedy_gpu-needs-reset': 'arrêter ses processus et lancer nvidia-smi --gpu-reset en root, ou redémarrer.',
  'remedy_gpus-missing':
    'voir le problème de chaque GPU manquant ; un GPU retiré est oublié au prochain démarrage.',
  'remedy_ecc-uncorrected':
    'ses résultats peuvent être faux : le réinitialiser, et le faire remplacer si les erreurs reviennent.',
  'remedy_sensor-error':
    'un ventilateur ou capteur défectueux se montre ainsi ; si d’autres valeurs manquent, chercher des erreurs Xid dans dmesg.',
  'remedy_truncated-output':
    'le prochain relevé devrait être entier ; sinon voir si la commande est tuée ou le disque plein.',
  'remedy_unreadable-output':
    'lancer nvidia-smi à la main et comparer ; une surcouche ou un pilote très récent peut l’avoir changée.',
  'remedy_unattributed-process': 'une instance MIG vient peut-être de changer : nvidia-smi -L les liste.',
  'remedy_no-device-access':
    'dans un conteneur, le redémarrer (avec --gpus) ; ailleurs lancer nvidia-modprobe et vérifier /dev/nvidia*.',
  'remedy_slow-driver':
    'activer le mode persistant : nvidia-smi -pm 1 en root, ou le service nvidia-persistenced.',
  'remedy_vendor-unreadable': 'réparer le pilote de ce fabricant ; ce qu’il a est dit après les deux-points.',
  'remedy_report-too-large':
    'rien d’autre n’est perdu ; voir quels processus ou problèmes sont si nombreux ou si longs.',
  'remedy_too-many-gpus': 'on montre les premiers ; les autres ne sont ni comptés ni proposés comme libres.',
  'remedy_gpus-unrecorded':
    'tous sont montrés ; l’historique n’a pas les plus récents. Après trente jours, il y a de nouveau de la place.',
  'remedy_too-many-processes': 'on montre ceux qui ont le plus de mémoire.',
  'remedy_disk-hung':
    'le trouver avec df et dmesg ; un disque bloqué demande le plus souvent un redémarrage.',
  'remedy_processes-hung':
    'essayer là-bas ps aux et getent passwd ; un annuaire (LDAP) est peut-être en panne.',
  'remedy_duplicate-gpu':
    'si c’est une machine sous deux noms, en retirer un de sa source ; sinon voir quel nœud ment.',
  'remedy_duplicate-node':
    'retirer le nœud de l’une des deux sources, ou donner aux machines des noms différents.',
  'remedy_no-process-ids': 'l’écrire avec gpustat -pcu.',
  'remedy_clock-off':
    'la régler, de préférence par NTP (timedatectl set-ntp true) ; d’ici là le tableau corrige ses heures.',
  'remedy_file-owner':
    'si personne n’a déplacé la tâche qui l’écrit vers un autre compte, chercher qui c’est ; chmod +t sur le dossier empêche de remplacer les fichiers d’autrui.',
  'remedy_gpu-missing':
    'le chercher avec nvidia-smi et dmesg (Xid 79), puis redémarrer ; une carte retirée est oubliée avec le temps (forget_after), ou tout de suite avec gpuboard node forget.',
  'remedy_gpu-replaced':
    'rien, si quelqu’un a changé la carte ; les réservations de ce numéro valent pour la nouvelle.',
  'remedy_gpu-renumbered':
    'les réservations valent pour des numéros, donc pour d’autres cartes maintenant : prévenir ceux qui ont réservé, et réserver à nouveau ; pendant un jour, aucune carte dont l’ancien numéro est réservé ne compte comme libre.',
  'remedy_numbers-moved':
    'faire donner les UUID par le nœud (agent, ssh, gpustat --json), pour que chaque carte garde son numéro ; les anciens numéros sont oubliés avec le temps (forget_after), ou tout de suite avec gpuboard node forget.',
  'remedy_second-file': 'chercher qui l’écrit, et supprimer le mauvais.',
  'remedy_unknown-age':
    'elles portent des heures locales : HOST_status.csv avec la ligne d’uptime dit lesquelles. Un tableau en marche le sait à la prochaine ligne.',
  'remedy_unreadable-file':
    'lancer à la main, sous le même compte, la commande qui l’écrit ; voir si le disque est plein.',
  remedy_xid:
    'chercher son numéro dans la liste des erreurs Xid de NVIDIA ; réinitialiser le GPU ou redémarrer, et voir si elle revient.',
  'remedy_token-shared':
    'si les deux tournent sur cette machine, en arrêter un ; sinon réinscrire le nœud sur la machine qu’il est (gpuboard node enroll), ce qui met fin à l’ancien jeton, et inscrire l’autre sous son propre nom.',
  'remedy_silent-push':
    'voir si le nœud tourne et, sur lui, l’agent : systemctl status gpuboard-agent, journalctl -u gpuboard-agent.',
  'remedy_silent-ssh':
    'voir si le nœud tourne et si son pilote répond : sous le compte du tableau, ssh HOST nvidia-smi.',
  'remedy_silent-pull':
    'voir si le nœud tourne, si l’agent y tourne, et si le tableau atteint son port : curl http://HOST:PORT/healthz (https: avec tls = true).',
  'remedy_silent-folder':
    'voir sur le nœud si la tâche qui l’écrit tourne encore (crontab -l, ou systemctl status gpuboard-agent), et si le dossier y est monté et non plein.',
  'remedy_silent-local': 'voir le journal du tableau, et ce que dit gpuboard doctor sur cette machine.',
  'remedy_silent-simulated':
    'rien : il montre à quoi ressemble un nœud muet ; pour un vrai, cette ligne dit où regarder.',
  'remedy_not-listed':
    'rien, s’il a été retiré : il est oublié avec le temps (forget_after), ou tout de suite avec gpuboard node forget ; sinon le remettre dans la liste, ou voir pourquoi son fichier n’est plus dans le dossier.',
});
