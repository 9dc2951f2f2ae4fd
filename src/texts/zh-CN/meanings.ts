/**
 * What each setting means, in Chinese, by its English, which stands beside the setting: a text that has none here is shown in
 * English, and a test fails.
 */
export const meanings: Readonly<Record<string, string>> = {
  "PostgreSQL for dirsync's own tables. Not through a pooler in transaction mode, which is refused.":
    'dirsync 自己的表所在的 PostgreSQL。不可经过事务模式的连接池，否则拒绝启动。',
  'Redis for the queue: one server, redis+sentinel://host:26379,host:26379/master, or redis+cluster://host:6379,host:6379; with TLS rediss in place of redis. Without it the queue lives in DATABASE_URL.':
    '队列使用的 Redis：单台服务器、redis+sentinel://host:26379,host:26379/master 或 redis+cluster://host:6379,host:6379；使用 TLS 时将 redis 换成 rediss。不设置则队列在 DATABASE_URL 中。',
  'The HR system: a PostgreSQL, MySQL or MariaDB database, or the folder where HR delivers files. dirsync only reads it.':
    '人事系统：PostgreSQL、MySQL 或 MariaDB 数据库，或人事系统交付文件的文件夹。dirsync 只读取。',
  'How often to check HR for rows with a newer updated_at, or for a new delivery of files, so that changes are sent at once without a trigger. 0 to never check.':
    '每隔多少秒查找 updated_at 更新的行，或新交付的文件，这样无需触发器也能立即发送变更。0 表示不查找。',
  'The longest row that is read from HR, in kB. A longer one stops the run with a message that names it: the mapping may have joined a photo.':
    '从人事系统读取的单行最大长度，单位 kB。超过时同步任务会停止，并指明是哪一行：字段映射可能连接了照片。',
  'Memory limit, in MB, of the process that reads HR for a dry run of another SELECT. A dry run that needs more fails.':
    '试算其他 SELECT 时，读取人事系统的进程的内存上限，单位 MB。超过时试算失败。',
  'When a delivery of files is complete: once nothing has changed for this time, or once a marker file is there that is newer than them.':
    '文件交付何时算完整：在这段时间内没有任何变化，或出现比数据文件更新的标记文件。',
  'Encoding of CSV and JSON files without a byte order mark. With auto, dirsync detects it for each file.':
    '没有字节顺序标记（BOM）的 CSV 和 JSON 文件的编码。auto 表示由 dirsync 逐个文件识别。',
  'The row of a workbook, or line of a CSV, with the column names, by table; only for tables where dirsync does not find it by itself.':
    '各表的列名在工作簿的第几行，或 CSV 的第几行；只有 dirsync 无法自行找到时才需要设置。',
  "Folder for a copy of the last complete delivery of files, for look-ups. Readable only by dirsync's user.":
    '保存最近一次完整交付的副本的文件夹，供查询使用。只有 dirsync 的用户可以读取。',
  'File with the SELECT that maps HR rows to employee fields.':
    '把人事数据映射为员工字段的 SELECT 所在的文件。',
  'File with the SELECT that maps HR rows to departments. Without it, departments are never deleted.':
    '把人事数据映射为部门的 SELECT 所在的文件。不设置则从不删除部门。',
  'File that names several HR systems, each with its mappings and enterprises, in place of HR_DATABASE_URL, HR_EMPLOYEES_SQL and HR_DEPARTMENTS_SQL.':
    '列出多个人事系统及各自的字段映射和企业的文件，代替 HR_DATABASE_URL、HR_EMPLOYEES_SQL 和 HR_DEPARTMENTS_SQL。',
  "The base address of the platform's test or production environment.": '平台测试环境或生产环境的基础地址。',
  'The application id.': '应用 ID。',
  "The application's secret.": '应用密钥。',
  'The hash function that signs requests.': '请求签名使用的哈希算法。',
  'Enterprise code of rows for which the mapping gives none. Empty for a single enterprise.':
    '字段映射没有给出企业编码时使用的企业编码。只有一家企业时留空。',
  'Merchant applications whose open ids are bound for every employee.': '为每名员工绑定 open id 的商户应用。',
  'Calls per second that all processes together may make. With auto, dirsync learns the limit.':
    '所有进程合计每秒可调用的次数。auto 表示由 dirsync 自行探测上限。',
  'Lower limits for single operations, in calls per second.': '个别接口的更低上限，单位为每秒调用次数。',
  'The platform\'s codes that mean "too many calls". HTTP 429 always does.':
    '表示“调用过多”的平台错误码。HTTP 429 始终如此。',
  'The most calls to the platform that one worker process makes at a time.':
    '一个工作进程同时向平台发起的最大调用数。',
  'The most employees and departments in the queue. Further work waits in the outbox.':
    '队列中员工和部门的最大数量。其余在待发送队列中等待。',
  'A run is suspect when HR has lost more than this percentage of its rows since the last good run, both of all and of those in service.':
    '与最近一次成功的同步任务相比，人事数据的全部行和在职员工的行减少的比例都超过这个百分比时，视为人事数据可疑。',
  'A run is suspect when a column turned empty for more than this percentage of the employees in service.':
    '某一列变为空值的在职员工超过这个百分比时，视为人事数据可疑。',
  'A run is held when it would change more employees than this …': '变更的员工超过这个数量 …',
  '… and more than this percentage of them.': '… 且超过这个百分比时，同步任务待审批。',
  'The first run is held, and `dirsync hr check` warns, when more than this percentage of the employees have left.':
    '已离职的员工超过这个百分比时，首次同步任务待审批，`dirsync hr check` 也会提示。',
  'A run is held when it would delete more departments than this …': '删除的部门超过这个数量 …',
  'Hours that a department must be closed before it is deleted.': '部门撤销多少小时后才删除。',
  'How often a changes run reads every row of HR, even though updated_at is mapped.':
    '即使映射了 updated_at，增量同步也每隔多少分钟读取全部人事数据。',
  'true if refunds are settled by price difference: each then needs costAmount or tradeInfo.':
    '退款按差价结算时为 true：每笔退款都需要 costAmount 或 tradeInfo。',
  'Hours after which a refund of unknown outcome counts as not carried out, if order record and payment orders show nothing of it.':
    '结果未知的退款，若订单记录和支付订单均未显示，多少小时后视为未执行。',
  'Public address of the receiver of refund notifications. If it is set, start runs the receiver, and refunds name the address.':
    '接收退款通知的公网地址。设置后，start 会运行接收服务，退款请求中也会带上该地址。',
  'Address that the receiver listens on.': '接收服务监听的地址。',
  'Port of the receiver. 0 for any free port.': '接收服务的端口。0 表示任意空闲端口。',
  "Which of the platform's data to copy into dirsync's own tables.":
    '把平台的哪些数据复制到 dirsync 自己的表中。',
  'How many days back payment orders are mirrored.': '支付订单的镜像覆盖最近多少天。',
  'Identification numbers of the taxpayers to mirror.': '需要镜像的纳税主体的识别号。',
  'Address that the console listens on.': '控制台监听的地址。',
  'Port of the console, with health and metrics. 0 for any free port.':
    '控制台的端口，健康检查和指标也在此。0 表示任意空闲端口。',
  'Bearer token for /metrics. Without it, /metrics is open to everyone.':
    '/metrics 的 Bearer 令牌。不设置则任何人都可以访问 /metrics。',
  "The console's public address. With https://, its cookies are sent over TLS only. Required for OIDC.":
    '控制台的公开地址。以 https:// 开头时，Cookie 只经 TLS 发送。使用 OIDC 时必须设置。',
  'true if the console may show everything but change nothing.': 'true 表示控制台只能查看，不能做任何变更。',
  'false if pages should not show the names of people and departments. They come from HR at each look and are kept nowhere; viewers see them masked.':
    'false 表示页面不显示人员和部门的名称。名称在每次查看时从人事系统读取，不在任何地方保存；查看者看到的是脱敏后的名称。',
  'Reverse proxies in front of the console whose X-Forwarded-… headers are trusted.':
    '控制台前的反向代理，其 X-Forwarded-… 请求头可信。',
  'The identity provider (OpenID Connect). If it is set, people may sign in there as well as with passwords.':
    '身份提供方（OpenID Connect）。设置后，除密码外还可以在那里登录。',
  "dirsync's client id at the identity provider. Its redirect URI is CONSOLE_URL/sign-in/oidc/callback.":
    'dirsync 在身份提供方的客户端 ID。重定向地址为 CONSOLE_URL/sign-in/oidc/callback。',
  "dirsync's secret at the identity provider.": 'dirsync 在身份提供方的密钥。',
  'Which values of which claim give which role. A person with none of them may not sign in.':
    '哪个声明（claim）的哪些值对应哪个角色。一个都没有的人不能登录。',
  'The scopes to request from the identity provider. Some providers need an extra one for groups.':
    '向身份提供方请求的范围（scope）。有些提供方需要额外的范围才会给出用户组。',
  'Minutes that a halt lasts before it is an alert.': '停止状态持续多少分钟后告警。',
  'Hours that calls stay paused before it is an alert.': '调用暂停多少小时后告警。',
  'Minutes that a held run waits before it is an alert.': '同步任务待审批多少分钟后告警。',
  'Minutes that HR looks wrong before it is an alert; at least 15 while files are being delivered.':
    '人事数据可疑多少分钟后告警；文件交付期间至少 15 分钟。',
  'Intervals of its schedule without a good changes or full run before it is an alert.':
    '增量同步或全量同步连续多少个定时周期没有成功时告警。',
  'Hours without a new delivery of HR’s files before it is an alert. As long as a long weekend by default.':
    '人事文件多少小时没有更新后告警。默认相当于一个长周末。',
  'Hours that a cron job stays paused before it is an alert.': '定时任务暂停多少小时后告警。',
  'Minutes that a cron job, or the runs that it requests, keep failing before it is an alert.':
    '定时任务或其发起的同步任务连续失败多少分钟后告警。',
  'It is an alert when the open cases of a category rise within an hour by more than this …':
    '某一类别的异常项一小时内增加超过这个数量 …',
  '… and by more than this percentage of the employees.': '… 且超过员工总数的这个百分比时告警。',
  'It is an alert when less than this percentage of the employees is in sync for an hour.':
    '员工同步率低于这个百分比达一小时后告警。',
  'Minutes that work waits, while nothing is halted, before it is an alert. Full runs do not count.':
    '没有停止状态而数据等待发送多少分钟后告警。全量同步不计。',
  'Minutes that the outcome of a refund or top-up is unknown before it is an alert.':
    '退款或充值的结果未知多少分钟后告警。',
  'Refunds, or top-ups, within seven days that turned out, or may have turned out, otherwise than they were recorded before it is an alert.':
    '七天内有多少笔退款或充值的实际结果与认定不符或可能不符时告警。',
  'Signed notifications within a day that match no refund before it is an alert.':
    '一天内有多少条已签名的通知找不到对应的退款时告警。',
  'Minutes without a running worker or scheduler before it is an alert.':
    '没有运行中的工作进程或调度进程多少分钟后告警。',
  'Minutes after a process died or froze, without being replaced, before it is an alert.':
    '进程终止或无响应后，无替代进程多少分钟后告警。',
  'Minutes that the queue may be away before it is an alert.': '队列无法访问多少分钟后告警。',
  'Minutes that processes may have different HR sources, as during a restart, before it is an alert.':
    '各进程的人事数据源不一致（例如重启期间）多少分钟后告警。',
  'Minutes that a process may leave all work to others, because the platform refuses its application secret or cannot be reached from it, before it is an alert.':
    '进程因平台拒绝其应用密钥或无法连接平台而将全部工作交由其他进程完成，持续多少分钟后告警。',
  'It is an alert when the platform rejects more than this percentage of the calls as too many.':
    '因调用过多而被平台拒绝的比例超过这个百分比时告警。',
  "Seconds that this machine's clock may differ from the platform's.": '本机时钟与平台时钟最多可相差多少秒。',
  'Access tokens created within an hour before it is an alert. The platform permits 60.':
    '一小时内创建多少个访问令牌时告警。平台允许 60 个。',
  "Percentage of the connections of dirsync's database, and of ALERT_DATABASE_GB, that may be used.":
    'dirsync 数据库的连接数以及 ALERT_DATABASE_GB 的使用比例上限，单位为百分比。',
  "How large dirsync's database may become, in GB.": 'dirsync 数据库的大小上限，单位 GB。',
  "Milliseconds that reading dirsync's figures may take, three times in a row.":
    '读取 dirsync 的指标最多可用多少毫秒，连续三次超过时告警。',
  "Minutes that dirsync's database may be away before it is an alert.":
    'dirsync 的数据库无法访问多少分钟后告警。',
  'Minutes that messages of a channel do not reach all of its recipients before the other channels are told.':
    '某个渠道的消息未能送达全部收件人多少分钟后，通知其他渠道。',
  'Minutes that the monitor at HEARTBEAT_URL accepts no call before it is an alert.':
    'HEARTBEAT_URL 的监控无法接收调用多少分钟后告警。',
  'Hours after which a continuing alert is sent again.': '持续中的告警每隔多少小时再次发送。',
  'The most messages about one rule that a channel gets within an hour; then it gets one summary. New critical alerts are always sent.':
    '一个渠道一小时内收到同一规则的最大消息数，之后合并为一条汇总。新的严重告警始终发送。',
  'Called (GET) after each successful changes or full run, for an external monitor that notices when the calls stop. While a run of employees is held as a whole, its HR source triggers no call.':
    '每次增量同步或全量同步成功后调用（GET），供外部监控在调用中断时发现问题。员工同步任务整体待审批时，其人事系统不会触发调用。',
  'Your name for this deployment, shown in alerts, the console and `dirsync status`.':
    '您为本部署起的名称，显示在告警、控制台和 `dirsync status` 中。',
  'The language of what commands print, their help included, and of log messages that ask for action. --json and CSV are always English.':
    '命令输出（包括帮助）以及需要处理的日志消息的语言。--json 和 CSV 始终为英文。',
  'How much is logged.': '日志的详细程度。',
  'Collector for OpenTelemetry traces (OTLP over HTTP), without /v1/traces. Without it, no traces are sent.':
    'OpenTelemetry 链路追踪的采集器（OTLP over HTTP），不含 /v1/traces。不设置则不发送。',
  'Headers of the requests to the collector, such as its key.': '发往采集器的请求头，例如其密钥。',
  'The service name in traces.': '链路追踪中的服务名称。',
  'Share of successful jobs whose traces are sent. Those of runs and failures always are.':
    '发送链路追踪的成功处理所占的比例。同步任务和失败的始终发送。',

  'Where its messages go: the address of a robot or webhook exactly as its vendor gives it, or of a mail server.':
    '消息发往何处：群机器人或 Webhook 的地址，与其提供方给出的完全一致；或邮件服务器的地址。',
  'The secret that signs its messages, for DingTalk, Feishu, Lark and webhooks.':
    '消息签名的密钥，用于钉钉、飞书、Lark 和 Webhook。',
  'The least severity of the alerts that it gets.': '接收的告警的最低级别。',
  'The language of its messages. Without it, that of DIRSYNC_LANG.':
    '消息的语言。不设置则与 DIRSYNC_LANG 相同。',
  'Whom its critical messages and tests mention, so that even a muted chat rings: mobile numbers for DingTalk, user ids for WeCom, open ids for Feishu and Lark, member ids for Slack. WeCom does not support all.':
    '严重告警和测试消息提醒谁，使免打扰的群也会响铃：钉钉用手机号，企业微信用用户 ID，飞书和 Lark 用 open id，Slack 用成员 ID。企业微信不支持 all。',
  'The events of runs and cases that a webhook gets, instead of alerts: `run.` and a state, `case.` and what happened, or `*`.':
    'Webhook 接收的同步任务和异常项事件（代替告警）：`run.` 加状态、`case.` 加所发生的事，或 `*`。',
  'The sender of mail. Without it, the user in the address, if that is a mail address.':
    '邮件的发件人。不设置则为地址中的用户，前提是它是邮箱地址。',
  'The recipients of mail.': '邮件的收件人。',

  'When the cron job runs that sends changes in HR.': '发送人事变更的定时任务何时运行。',
  'When the cron job runs that compares every employee with the platform.':
    '把每名员工与平台比对的定时任务何时运行。',
  'When the cron job runs that deletes departments that HR closed.':
    '删除人事系统已撤销的部门的定时任务何时运行。',
  'When the cron job runs that fetches missing open ids.': '获取缺少的 open id 的定时任务何时运行。',
  'When the cron job runs that reads payment orders again, if MIRRORS lists orders.':
    '重新读取支付订单的定时任务何时运行，前提是 MIRRORS 包含 orders。',
  'When the cron job runs that reads limit accounts again, if MIRRORS lists accounts.':
    '重新读取额度账户的定时任务何时运行，前提是 MIRRORS 包含 accounts。',
  'When the cron job runs that reads taxpayers again, if MIRRORS lists taxpayers.':
    '重新读取纳税主体的定时任务何时运行，前提是 MIRRORS 包含 taxpayers。',
  'When the cron job runs that retries dead letters that are due; with off, none is retried when it is due.':
    '重试到期异常项的定时任务何时运行；设为 off 时，到期的异常项均不重试。',
  'When the cron job runs that puts lost jobs back into the queue.':
    '把队列丢失的数据重新放入队列的定时任务何时运行。',
  'When the cron job runs that records the state of everything, for charts; where it does not, the process that checks the alerts does.':
    '记录整体状态供曲线使用的定时任务何时运行；该任务不运行时，由检查告警的进程记录。',
  'When the cron job runs that deletes attempts, calls, dry runs, unused plans and messages after 30 days, decided plans, closed dead letters and alerts after 180.':
    '清理历史数据的定时任务何时运行：处理记录、调用、试算、未用的计划和消息保留 30 天，已审批的计划、已关闭的异常项和告警保留 180 天。',
}
