import type { RemedyWords } from '../language.svelte';

export const remedies: RemedyWords = {
  'remedy_no-driver': '安装并加载 NVIDIA 驱动程序（modprobe nvidia）；新内核可能需要重建模块。',
  'remedy_no-devices': '确认 GPU 已插妥、有供电，且未直通给虚拟机（lspci、dmesg）。',
  'remedy_driver-mismatch': '重启，或停止 GPU 上的一切并重新加载模块（rmmod nvidia_uvm nvidia）。',
  'remedy_driver-hung': '在 dmesg 中查看 Xid 错误；驱动程序卡住多半需要重启。',
  'remedy_driver-error': '在 dmesg 中查看 Xid 错误；若在容器中，请重启容器。',
  'remedy_no-permission': '让此用户能访问 /dev/nvidia*（多为 video 或 render 用户组），或以 root 运行。',
  'remedy_gpu-lost': '重启；若再发生，检查供电、插槽与温度，并在 dmesg 中查看 Xid 79。',
  'remedy_gpu-needs-reset': '停止其程序并以 root 运行 nvidia-smi --gpu-reset，或重启。',
  'remedy_gpus-missing': '请看各张缺少的 GPU 的问题；已拆除的会在下次启动后忘记。',
  'remedy_ecc-uncorrected': '其运算结果可能有误：请重置，若再出错请更换。',
  'remedy_sensor-error': '风扇或传感器故障时会如此；若缺少更多数值，请在 dmesg 中查看 Xid 错误。',
  'remedy_truncated-output': '下一次取样应会完整；若否，检查命令是否被终止或磁盘已满。',
  'remedy_unreadable-output': '手动运行 nvidia-smi 比对；包装程序或很新的驱动程序可能改变了输出。',
  'remedy_unattributed-process': '可能刚有 MIG 实例变动：nvidia-smi -L 可列出。',
  'remedy_no-device-access':
    '若在容器中，请重启（加上 --gpus）；否则运行 nvidia-modprobe 并检查 /dev/nvidia*。',
  'remedy_slow-driver': '启用持续模式：以 root 运行 nvidia-smi -pm 1，或使用 nvidia-persistenced 服务。',
  'remedy_vendor-unreadable': '请修复该厂商的驱动程序；冒号后说明其问题。',
  'remedy_report-too-large': '其他内容不受影响；请查看哪些程序或问题过多或过长。',
  'remedy_too-many-gpus': '只显示前面的；其余不计入，也不列为空闲。',
  'remedy_gpus-unrecorded': '全部都会显示；最新的不在历史记录中。三十天后会再有空位。',
  'remedy_too-many-processes': '显示占用显存最多的程序。',
  'remedy_disk-hung': '用 df 与 dmesg 找出；磁盘卡住多半需要重启。',
  'remedy_processes-hung': '在该处试 ps aux 与 getent passwd；目录服务器（LDAP）可能停止。',
  'remedy_duplicate-gpu': '若是同一台机器的两个名称，从其来源移除一个；否则查明哪个节点有误。',
  'remedy_duplicate-node': '从其中一个来源移除该节点，或给机器不同的名称。',
  'remedy_no-process-ids': '请用 gpustat -pcu 写出。',
  'remedy_clock-off': '校正时钟，最好用 NTP（timedatectl set-ntp true）；在此之前看板会自行修正时间。',
  'remedy_file-owner':
    '若没有人把写文件的工作移到别的账号，请查明是谁；在文件夹上 chmod +t 可防止他人替换文件。',
  'remedy_gpu-missing':
    '用 nvidia-smi 与 dmesg（Xid 79）查看并重启；已拆下的卡过一段时间（forget_after）会被忘记，或用 gpuboard node forget 立即移除。',
  'remedy_gpu-replaced': '若是有人换卡则不必处理；此编号的预订适用于新卡。',
  'remedy_gpu-renumbered':
    '预订以编号为准，因此现在适用于其他卡：请通知预订者并重新预订；一天之内，先前编号已被预订的卡不算空闲。',
  'remedy_numbers-moved':
    '让节点上报 UUID（代理程序、ssh、gpustat --json），每张卡才能保有编号；旧编号过一段时间（forget_after）会被忘记，或用 gpuboard node forget 立即忘记。',
  'remedy_second-file': '查明是谁写的，并移除错误的那个。',
  'remedy_unknown-age':
    '它们只写本地时间：含 uptime 那一行的 HOST_status.csv 可说明。运行中的看板在下一行出现时就会知道。',
  'remedy_unreadable-file': '以同一用户手动运行写文件的命令；查看磁盘是否已满。',
  remedy_xid: '在 NVIDIA 的 Xid 错误清单查询其编号；重置 GPU 或重启，看是否再次发生。',
  'remedy_token-shared':
    '若两者都在这台机器上运行，请停止其中一个；否则在真正的机器上重新注册节点（gpuboard node enroll），旧令牌即失效；另一台请用自己的名称注册。',
  'remedy_silent-push':
    '查看节点是否开机，以及其上的代理程序是否在运行：systemctl status gpuboard-agent、journalctl -u gpuboard-agent。',
  'remedy_silent-ssh': '查看节点是否开机、驱动程序是否响应：以看板的用户运行 ssh HOST nvidia-smi。',
  'remedy_silent-pull':
    '查看节点是否开机、代理程序是否在运行，以及看板能否连到其端口：curl http://HOST:PORT/healthz（tls = true 时用 https:）。',
  'remedy_silent-folder':
    '在节点上查看写文件的工作是否仍在运行（crontab -l 或 systemctl status gpuboard-agent），以及文件夹是否已挂载且未满。',
  'remedy_silent-local': '查看看板的日志，以及在该处运行 gpuboard doctor 的结果。',
  'remedy_silent-simulated': '无须处理：这是演示节点无声时的样子；真实节点会在此说明该查看何处。',
  'remedy_not-listed':
    '若是刻意移除则无须处理：过一段时间（forget_after）移除，或以 gpuboard node forget 立即移除；否则请将它放回清单，或查看其文件为何不在文件夹中。',
};
