import type { RemedyWords } from '../language.svelte';

export const remedies: RemedyWords = {
  'remedy_no-driver': '安裝並載入 NVIDIA 驅動程式（modprobe nvidia）；新核心可能需要重建模組。',
  'remedy_no-devices': '確認 GPU 已插妥、有供電，且未直通給虛擬機器（lspci、dmesg）。',
  'remedy_driver-mismatch': '重新開機，或停止 GPU 上的一切並重新載入模組（rmmod nvidia_uvm nvidia）。',
  'remedy_driver-hung': '在 dmesg 中查看 Xid 錯誤；驅動程式卡住多半需要重新開機。',
  'remedy_driver-error': '在 dmesg 中查看 Xid 錯誤；若在容器中，請重新啟動容器。',
  'remedy_no-permission': '讓此使用者能存取 /dev/nvidia*（多為 video 或 render 群組），或以 root 執行。',
  'remedy_gpu-lost': '重新開機；若再發生，檢查供電、插槽與溫度，並在 dmesg 中查看 Xid 79。',
  'remedy_gpu-needs-reset': '停止其程序並以 root 執行 nvidia-smi --gpu-reset，或重新開機。',
  'remedy_gpus-missing': '請看各張缺少的 GPU 的問題；已拆除的會在下次啟動後忘記。',
  'remedy_ecc-uncorrected': '其運算結果可能有誤：請重設，若再出錯請更換。',
  'remedy_sensor-error': '風扇或感測器故障時會如此；若缺少更多數值，請在 dmesg 中查看 Xid 錯誤。',
  'remedy_truncated-output': '下一次取樣應會完整；若否，檢查指令是否被終止或磁碟已滿。',
  'remedy_unreadable-output': '手動執行 nvidia-smi 比對；包裝程式或很新的驅動程式可能改變了輸出。',
  'remedy_unattributed-process': '可能剛有 MIG 執行個體變動：nvidia-smi -L 可列出。',
  'remedy_no-device-access':
    '若在容器中，請重新啟動（加上 --gpus）；否則執行 nvidia-modprobe 並檢查 /dev/nvidia*。',
  'remedy_slow-driver': '啟用持續模式：以 root 執行 nvidia-smi -pm 1，或使用 nvidia-persistenced 服務。',
  'remedy_vendor-unreadable': '請修復該廠商的驅動程式；冒號後說明其問題。',
  'remedy_report-too-large': '其他內容不受影響；請查看哪些程序或問題過多或過長。',
  'remedy_too-many-gpus': '只顯示前面的；其餘不計入，也不列為空閒。',
  'remedy_gpus-unrecorded': '全部都會顯示；最新的不在歷史記錄中。三十天後會再有空位。',
  'remedy_too-many-processes': '顯示占用記憶體最多的程序。',
  'remedy_disk-hung': '用 df 與 dmesg 找出；磁碟卡住多半需要重新開機。',
  'remedy_processes-hung': '在該處試 ps aux 與 getent passwd；目錄伺服器（LDAP）可能停擺。',
  'remedy_duplicate-gpu': '若是同一台機器的兩個名稱，從其來源移除一個；否則查明哪個節點有誤。',
  'remedy_duplicate-node': '從其中一個來源移除該節點，或給機器不同的名稱。',
  'remedy_no-process-ids': '請用 gpustat -pcu 寫出。',
  'remedy_clock-off': '校正時鐘，最好用 NTP（timedatectl set-ntp true）；在此之前看板會自行修正時間。',
  'remedy_file-owner':
    '若沒有人把寫檔的工作移到別的帳號，請查明是誰；在資料夾上 chmod +t 可防止他人替換檔案。',
  'remedy_gpu-missing':
    '用 nvidia-smi 與 dmesg（Xid 79）查看並重新開機；已拆下的卡過一段時間（forget_after）會被忘記，或用 gpuboard node forget 立即移除。',
  'remedy_gpu-replaced': '若是有人換卡則不必處理；此編號的預約適用於新卡。',
  'remedy_gpu-renumbered':
    '預約以編號為準，因此現在適用於其他卡：請通知預約者並重新預約；一天之內，先前編號已被預約的卡不算空閒。',
  'remedy_numbers-moved':
    '讓節點回報 UUID（代理程式、ssh、gpustat --json），每張卡才能保有編號；舊編號過一段時間（forget_after）會被忘記，或用 gpuboard node forget 立即忘記。',
  'remedy_second-file': '查明是誰寫的，並移除錯誤的那個。',
  'remedy_unknown-age':
    '它們只寫本地時間：含 uptime 那一行的 HOST_status.csv 可說明。執行中的看板在下一行出現時就會知道。',
  'remedy_unreadable-file': '以同一使用者手動執行寫檔的指令；查看磁碟是否已滿。',
  remedy_xid: '在 NVIDIA 的 Xid 錯誤清單查詢其編號；重設 GPU 或重新開機，看是否再次發生。',
  'remedy_token-shared':
    '若兩者都在這台機器上執行，請停止其中一個；否則在真正的機器上重新註冊節點（gpuboard node enroll），舊權杖即失效；另一台請用自己的名稱註冊。',
  'remedy_silent-push':
    '查看節點是否開機，以及其上的代理程式是否在執行：systemctl status gpuboard-agent、journalctl -u gpuboard-agent。',
  'remedy_silent-ssh': '查看節點是否開機、驅動程式是否回應：以看板的使用者執行 ssh HOST nvidia-smi。',
  'remedy_silent-pull':
    '查看節點是否開機、代理程式是否在執行，以及看板能否連到其連接埠：curl http://HOST:PORT/healthz（tls = true 時用 https:）。',
  'remedy_silent-folder':
    '在節點上查看寫檔的工作是否仍在執行（crontab -l 或 systemctl status gpuboard-agent），以及資料夾是否已掛載且未滿。',
  'remedy_silent-local': '查看看板的記錄，以及在該處執行 gpuboard doctor 的結果。',
  'remedy_silent-simulated': '無須處理：這是示範節點無聲時的樣子；真實節點會在此說明該查看何處。',
  'remedy_not-listed':
    '若是刻意移除則無須處理：過一段時間（forget_after）移除，或以 gpuboard node forget 立即移除；否則請將它放回清單，或查看其檔案為何不在資料夾中。',
};
