import { filterMeanings } from './filters.ts'

/**
 * The help of the shell in Chinese, by its English, which stands in the files of the commands: a text that has none here is shown in
 * English, and a test fails.
 */
export const help: Readonly<Record<string, string>> = {
  // Options of lists are described as the parameters of the API, but begin with a small letter.
  ...Object.fromEntries(
    Object.entries(filterMeanings).map(([english, chinese]) => [
      english.replace(/^./, letter => letter.toLowerCase()),
      chinese,
    ]),
  ),
  'Usage:': '用法：',
  'Options:': '选项：',
  'Arguments:': '参数：',
  'Commands:': '命令：',
  'choices:': '可选值',
  'default:': '默认值',
  'For example:': '例如：',
  '(run with --help for the usage)': '（用法见 --help）',
  'Keeps the employee directory of an enterprise-benefits platform in sync with an HR database.':
    '让企业福利平台的员工目录与人事数据库保持同步。',
  'output the version number': '显示版本号',
  'display help for command': '显示命令的帮助',
  'Examples:': '示例：',
  'sync everything once, and end': '全部同步一次后结束',
  'sync one employee now': '立即同步一名员工',
  'see what failed': '查看失败的数据',
  'see what is wrong with the settings': '检查设置有什么问题',
  'Exit codes: 0 done, 1 failed or held, 2 wrong usage or setting.':
    '退出码：0 完成，1 失败或待审批，2 用法或设置有误。',
  'run the service; without settings, everything embedded': '运行服务；没有任何设置时全部内嵌运行',
  'roles of this process: scheduler, worker, console, notifications (default: all; the last only where NOTIFICATION_URL is set)':
    '本进程的角色：scheduler、worker、console、notifications（默认全部；最后一个仅在设置 NOTIFICATION_URL 时启用）',
  'sync everything once, print a summary and end': '全部同步一次，显示汇总后结束',
  'print the summary as JSON': '以 JSON 输出汇总',
  'embedded: forget all data and start over': '内嵌运行时：清除全部数据，重新开始',
  'Without DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL everything runs embedded, with its data in .dirsync/. With --once: exit 0 when every run is done, 1 when one failed or is held, or when halts kept the platform from being asked about anyone, or about some who were in sync.':
    '未设置 DATABASE_URL、HR_DATABASE_URL 和 PLATFORM_BASE_URL 时，全部内嵌运行，数据在 .dirsync/ 中。使用 --once 时：全部同步任务完成则退出码为 0；有任务失败或待审批，或因停止而未能向平台核对任何员工或部分已同步的员工，则为 1。',
  'the whole service in one process': '在一个进程中运行整个服务',
  'one more worker beside it': '再增加一个工作进程',
  'sync once, for a cron job of your own': '只同步一次，供您自己的定时任务调用',
  'bring the database schema up to date': '更新数据库结构',
  'show what a run would do, or a stored plan': '查看同步任务将做什么，或查看已保存的计划',
  'start a run now': '立即启动同步任务',
  'show where things stand': '查看整体状态',
  'list the latest runs, or tell about one': '列出最近的同步任务，或查看其中一个',
  "tell one employee's story": '查看一名员工的完整情况',
  'find people, cases, runs and orders': '查找人员、异常项、任务和订单',
  'let a held run go on': '批准待审批的同步任务',
  'end a held run; nothing is sent': '驳回待审批的同步任务，不发送任何数据',
  'take back what a run has not sent yet': '取消同步任务中尚未发送的部分',
  'stop all calls to the platform': '暂停对平台的全部调用',
  'let calls go on after a pause': '恢复暂停的调用',
  'review what failed': '处理异常项',
  'see what is wrong, and who is told': '查看告警及其接收方',
  'look at payment orders': '查询支付订单',
  'show limit accounts and their balances': '查询额度账户及余额',
  'look up taxpayers': '查询纳税主体',
  'refund an order, see what became of it': '为订单退款，并查看结果',
  'apply for points, see what became of it': '申请充值，并查看结果',
  'call one operation of the platform': '调用平台的一个接口',
  'check everything that has to be right': '健康检查',
  'check HR, begin a mapping, install the trigger': '检查人事数据、开始编写映射、安装触发器',
  'say who may use the console': '管理控制台用户',
  'keep tokens of the API': '管理 API 令牌',
  'switch to another platform account': '切换到另一个平台账号',
  'run the stand-alone platform, for trials': '运行独立的模拟平台，供试用',
  'run the service, or one sync with --once': '运行服务，或用 --once 只同步一次',
  'print one JSON document': '输出一个 JSON 文档',
  'Every start does this too. Run it by itself where another database user owns the schema. It needs only DATABASE_URL and REDIS_URL, and says which settings a start would miss. Where the database user may not create roles, it prints what an administrator has to run once.':
    '每次启动也会执行此操作。如果数据库结构由另一个数据库用户拥有，请单独运行。只需要 DATABASE_URL 和 REDIS_URL，并会指出启动还缺少哪些设置。如果数据库用户无权创建角色，会打印管理员需要执行一次的语句。',
  'show what a run would do, or the stored plan of a held run; writes nothing':
    '查看同步任务将做什么，或查看待审批任务已保存的计划；不写入任何数据',
  'ask the platform about every employee, field by field': '向平台逐字段查询每名员工',
  'with --full: skip employees that the platform confirmed within this time':
    '与 --full 同用：跳过在此时间内已由平台确认的员工',
  'one employee, field by field': '逐字段查看一名员工',
  'what another SELECT of employees would change, against the one in use':
    '改用另一条员工 SELECT 会带来哪些变更',
  'one of the HR systems of HR_SOURCES; --mapping needs it where there are several':
    'HR_SOURCES 中的一个人事系统；有多个时 --mapping 必须指定',
  'not part of the move': '不属于这次调动',
  'with the number of a run: ask the platform for its values of the rows that are listed':
    '与任务编号同用：向平台查询所列各行的现有值',
  'with the number of a run: its whole plan, entity by entity': '与任务编号同用：逐项输出其完整计划',
  'number of a held run': '待审批任务的编号',
  'Reads HR. The platform is asked only with --full, --employee or --ask, and nothing is ever written to it. Without the number of a run: exit 0 when the run would go through, at once or after a halt, 1 when it would be held or stopped, 2 when the SELECT is wrong. Of several HR systems, each has a run of its own. Approving a held run sends its plan as it was stored; rows that HR has changed since wait for the next plan.':
    '读取人事数据。仅在使用 --full、--employee 或 --ask 时查询平台，且从不写入平台。不带任务编号时：任务会通过（立即，或在停止解除之后）则退出码为 0，会待审批或停止则为 1，SELECT 有误则为 2。有多个人事系统时，各有自己的任务。批准后按已保存的计划发送；人事系统此后变更的数据留待下一个计划。',
  'start a run now: of what changed in HR, or of what you name':
    '立即启动同步任务：人事系统中有变更的数据，或您指定的数据',
  'ask the platform about every employee': '向平台查询每名员工',
  'these employees (user id, or enterprise/userid)': '这些员工（员工 ID，或“企业编码/员工 ID”）',
  'delete departments that HR closed': '删除人事系统中已撤销的部门',
  'bind missing open ids': '绑定缺少的 open id',
  'read payment orders again': '重新读取支付订单',
  'read limit accounts again': '重新读取额度账户',
  'read the taxpayers of TAXPAYER_IDENTIFIERS again': '重新读取 TAXPAYER_IDENTIFIERS 中的纳税主体',
  'one of the HR systems of HR_SOURCES (default: a run for each of them)':
    'HR_SOURCES 中的一个人事系统（默认：每个系统各启动一个任务）',
  'show progress and end with the run': '显示进度，并随任务结束',
  '--orders, --accounts and --taxpayers also work where MIRRORS leaves them out. With --wait: exit 0 when the run is done; 1 when it failed, is held, HR looked wrong or went away meanwhile, everything is halted, or a later run has taken over an employee whom you named.':
    '即使 MIRRORS 未包含，--orders、--accounts 和 --taxpayers 也可使用。使用 --wait 时：任务完成则退出码为 0；任务失败、待审批、人事数据异常或其间无法读取、已全部停止，或指定的员工已由之后的任务接管，则为 1。',
  'show where things stand: processes, queue, halts, runs, dead letters':
    '查看整体状态：进程、队列、停止、同步任务、异常项',
  'list the latest runs, or tell the story of one': '列出最近的同步任务，或查看其中一个的经过',
  'how many to list': '列出的数量',
  'number of a run': '任务编号',
  'its plan, what came of it, who asked, its dead letters': '其计划、结果、发起人和异常项',
  "tell one employee's story: HR against the platform, work, attempts, dead letters, payment orders":
    '查看一名员工的完整情况：人事系统与平台的对照、待发送、处理记录、异常项、支付订单',
  'Asks HR and the platform. Personal data is masked.': '会查询人事系统和平台。个人信息已脱敏。',
  'find people, departments, cases, runs, refunds, top-ups and payment orders':
    '查找人员、部门、异常项、同步任务、退款、充值和支付订单',
  'a name, user id, open id, work, mobile or other number, e-mail address, trace id or code of the platform':
    '姓名、员工 ID、open id、工号、手机号或其他编号、邮箱、跟踪 ID 或平台错误码',
  'let a held run go on, or a part of it: its plan is sent as it was stored; rows that HR has changed since wait for the next plan':
    '批准待审批的同步任务或其中一部分：按已保存的计划发送；人事系统此后变更的数据留待下一个计划',
  'only rows with this reason: new, changed, left …': '只含此原因的行：new、changed、left 等',
  'only rows in which this field changes': '只含此字段有变更的行',
  'only employees who leave this department': '只含从此部门调出的员工',
  'only rows of this department': '只含此部门的行',
  'only rows of this enterprise': '只含此企业的行',
  'only these: user ids, or enterprise/userid; for departments their codes':
    '只含这些：员工 ID，或“企业/员工 ID”；部门则为部门编号',
  'number of the run': '任务编号',
  'find the run that is held': '找出待审批的任务',
  'look at its plan': '查看其计划',
  'end a held run, or reject a part of it; rejected rows are not sent until HR changes them, or you resync the employee by name':
    '驳回待审批的同步任务或其中一部分；在 HR 修改之前不发送被驳回的行，除非用 resync 指定该员工。',
  'why, for whoever looks at the run later': '原因，供之后查看该任务的人参考',
  'HR import was broken': '人事数据导入有误',
  'take back what a run has not sent yet; calls under way are finished. The next run plans it again, and what was approved of a held plan in parts is undecided again.':
    '取消同步任务中尚未发送的部分；正在进行的调用会完成。下一个任务会重新计划；按部分批准的计划则回到待审批。',
  'end a dry run of another SELECT instead': '改为结束一次对其他 SELECT 的试算',
  'wrong day': '日期有误',
  'stop all calls of this deployment to the platform, until resume; work waits and nothing is lost':
    '暂停本部署对平台的全部调用，直至 resume；等待的数据会保留，不会丢失',
  'why; status shows it': '原因；status 会显示',
  'platform maintenance until 18:00': '平台维护至 18:00',
  'let calls to the platform go on after a pause': '恢复暂停的平台调用',
  'review what failed: list, show, retry, ignore, snooze, wake, undo, assign, comment, export':
    '处理异常项：list、show、retry、ignore、snooze、wake、undo、assign、comment、export',
  'end the snooze of one early, without trying it again': '提前结束一个异常项的暂缓，不重试',
  'take back the last ignore, snooze or assignment of one, within ten minutes':
    '在十分钟内撤销对一个异常项的忽略、暂缓或指派',
  'of all that this bulk action changed, in the background': '撤销此批量操作改动过的全部异常项，在后台进行',
  'A dead letter is a case for review: one per employee or department, operation and field. The first success resolves it. A dead letter of an enterprise means that a field is switched off there: retrying it tries one employee, and if that works, all employees are compared again.':
    '异常项是需要人工查看的问题：每名员工或每个部门的每种操作和字段各一条，首次成功即自动解决。企业的异常项表示该企业未开通某个字段：重试时先尝试一名员工，成功后再重新比对全部员工。',
  'shared phone, agreed with them': '共用电话，已与本人确认',
  'list the open ones, or those that match': '列出未解决的，或符合条件的',
  'show everything about one': '查看一条的全部内容',
  'number of the dead letter': '异常项编号',
  'try some again now, or all of one category': '立即重试若干条，或某一类别的全部',
  'all open ones of this category': '此类别的全部未解决异常项',
  'numbers of dead letters': '异常项编号',
  'accept one as it is; it reopens when the HR row changes or fails for another reason':
    '接受现状；人事数据变更或因其他原因失败时会重新打开',
  'why, for whoever asks later': '原因，供日后查询',
  'leaves at the end of the month': '月底离职',
  'let one rest until a time; then try it again': '暂缓至某个时间，然后重试',
  'a time (2030-01-31, 2030-01-31T08:00), or 30m, 12h, 3d, 2w from now':
    '时间（2030-01-31、2030-01-31T08:00），或从现在起 30m、12h、3d、2w',
  why: '原因',
  'HR fixes it': '人事更正中',
  'say who takes care of one': '指派负责人',
  'who does': '负责人',
  'nobody does': '取消指派',
  'add to the story of one, resolved or not': '添加备注，无论是否已解决',
  'what to say': '备注内容',
  'called him: new number on Monday': '已电话联系：周一换新号码',
  'print all that match, with every column': '输出全部符合条件的，包含所有列',
  'as CSV (the default)': 'CSV 格式（默认）',
  'see what is wrong and who is told; test channels, mute rules, set quiet hours':
    '查看告警及其接收方；测试渠道、静默规则、设置免打扰时段',
  'Channels are settings: ALERT_CHANNEL_OPS holds the address of a group robot, a mail server or a webhook. docs/alerts.md says how to get each; docs/runbook.md says what to do about each alert.':
    '渠道由设置指定：ALERT_CHANNEL_OPS 为群机器人、邮件服务器或 Webhook 的地址。docs/alerts.md 说明如何获取；docs/runbook.md 说明每种告警如何处理。',
  'the department moves today': '今天部门搬迁',
  'list what is wrong now (the default)': '列出当前的告警（默认）',
  'list where alerts go, and how each channel fares': '列出告警发往的渠道及其状况',
  'list what raises an alert, with figures and mutes': '列出告警规则及其阈值和静默',
  'list alerts that are over, the latest first': '列出已恢复的告警，最近的在前',
  'ended since a time (2030-01-31), or 12h, 7d, 4w ago': '自某个时间（2030-01-31）或 12h、7d、4w 前起恢复的',
  'only those of this rule': '仅此规则的',
  'send a message to each channel, and say what its server answered':
    '向每个渠道发送一条消息，并显示其服务器的答复',
  'to this channel alone': '仅发往此渠道',
  'Nothing else has to run, not even the database.': '无需运行其他任何部分，数据库也不需要。',
  'say that you take care of an alert: channels are not told again until it is over, or a further refund or top-up comes to it':
    '认领告警：恢复之前不再通知各渠道，除非其中新增退款或充值',
  'what you do about it; channels that were told hear it': '处理方式；已收到通知的渠道会得知',
  'number of the alert, as dirsync alerts lists it': '告警编号，见 dirsync alerts',
  'the vendor renews the secret': '平台方正在更换密钥',
  'keep the alerts of a rule from all channels for a time': '在一段时间内不向任何渠道发送某规则的告警',
  'only those about this, such as an enterprise code or a run': '仅与此有关的，例如企业编码或同步任务',
  'how long: 30m, 4h, 3d, 2w; 30 days at most': '时长：30m、4h、3d、2w；最长 30 天',
  'until when: 2030-01-31, 2030-01-31T08:00': '截止时间：2030-01-31、2030-01-31T08:00',
  'name of the rule, as dirsync alerts rules lists it': '规则名，见 dirsync alerts rules',
  'code is on its way': '企业编码正在办理',
  'NTP comes': '即将配置 NTP',
  'let the alerts of a rule through again': '取消对某规则的静默',
  'only those about this, as they were muted': '仅与此有关的，与静默时相同',
  'name of the rule': '规则名',
  'send only critical alerts in some hours of each day; without hours: show them':
    '每天的某个时段只发送严重告警；不填时段则显示当前设置',
  'where clocks show these hours; without it: as this shell has it': '时段所用的时区；不填则为本终端的时区',
  'from and to, such as 22:00-07:00; off: at no hour': '起止时间，例如 22:00-07:00；off 表示取消',
  'look at payment orders, as the platform has them now': '查询平台当前的支付订单',
  'Personal data is shown unmasked: it is what an operator asked for.':
    '个人信息不脱敏，因为这是操作员主动查询的内容。',
  'list the payment orders of some days': '列出某些日期的支付订单',
  'first day, in GMT+8 (default 30 days before the last)': '起始日期，东八区（默认为截止日期前 30 天）',
  'last day (default today)': '截止日期（默认今天）',
  'with the records of service fees': '包含服务费记录',
  'enterprise (default PLATFORM_ENTERPRISE_CODE)': '企业编码（默认 PLATFORM_ENTERPRISE_CODE）',
  'show a payment order with its goods': '查看一笔支付订单及其商品',
  'number of the payment order': '支付订单号',
  "show what was paid and refunded of a merchant's order": '查看商户订单的支付和退款情况',
  'external trade number; starts with the application id': '外部交易号；以应用 ID 开头',
  'show the limit accounts of the enterprise with balances and sub-accounts, as they are now':
    '查询企业当前的额度账户、余额和子账户',
  'show this account alone': '仅查看此账户',
  'look up the taxpayers of an identification number, of both natures':
    '按税号查询纳税主体，包括两种纳税人性质',
  'only those with this name': '仅此名称的',
  '1 general, 2 small-scale (default both)': '1 一般纳税人，2 小规模纳税人（默认两者）',
  'taxpayer identification number': '纳税人识别号',
  'refund an order: send, list, show, settle, resolve': '为订单退款：send、list、show、settle、resolve',
  "A refund is written down before it is sent, and its number is never sent twice. If its outcome is unknown, the order record tells what became of it: the service asks by itself, and settle asks now. Accepted is not completed: settle asks whether the order record shows it; and of one that may have been carried out after all, whether it still does, unless the mirror has the order: that decides then. That it was not carried out shows only with the order's payment orders, which dirsync has from their mirror (MIRRORS=orders). Where the records cannot tell, find out from the vendor and say it with resolve.":
    '退款先登记再发送，同一编号不会发送两次。结果未知时，以订单记录为准：服务会自动查询，settle 则立即查询。已受理不等于已完成：settle 会查询订单记录是否已显示；对实际可能已执行的退款，则查询订单记录是否仍如此显示；镜像中已有该订单时，以镜像为准。只有通过镜像（MIRRORS=orders）得知该订单的支付订单，才能判断退款未执行。如果这些记录无法说明，请向平台方确认，再用 resolve 登记。',
  damaged: '商品损坏',
  'refund an order; on a terminal it asks you first': '为订单退款；在终端上会先询问',
  'external trade number of the order': '订单的外部交易号',
  'amount to refund, such as 12.50': '退款金额，例如 12.50',
  'why, in 1 to 254 characters': '原因，1 至 254 个字符',
  'external refund number; starts with the application id (default: a new one)':
    '外部退款单号；以应用 ID 开头（默认自动生成）',
  'address to be notified (default NOTIFICATION_URL)': '接收通知的地址（默认 NOTIFICATION_URL）',
  'settlement price, in price-difference mode': '结算价（差价模式）',
  'shipping fee, where the settlement price is without it': '运费（结算价不含运费时）',
  'do not ask; needed where there is no terminal': '不询问；没有终端时必须使用',
  'print one JSON document; with a file (- is standard input): the request':
    '输出一个 JSON 文档；后接文件（- 为标准输入）时，表示请求内容',
  "The file holds the platform's request, with tradeInfo where needed (see dirsync platform seller/v3/pay/syncRefund --help); flags override its fields.":
    '文件内容为平台的请求，需要时包含 tradeInfo（见 dirsync platform seller/v3/pay/syncRefund --help）；选项会覆盖其中的字段。',
  'external refund number': '外部退款单号',
  'only refunds that were accepted more than a day ago, and that nothing shows as completed':
    '只含受理已超过一天、尚无任何记录表明已完成的退款',
  'find out now what became of one': '立即查询其结果',
  'say what became of one whose outcome is unknown': '登记未知结果的实际情况',
  'accepted: carried out; rejected: not carried out': 'accepted：已执行；rejected：未执行',
  'how you know, for whoever asks later': '依据，供日后查询',
  'the vendor says so': '平台方已确认',
  'apply for a top-up of enterprise points: send, list, show, resolve':
    '申请企业积分充值：send、list、show、resolve',
  "An application is written down before it is sent, and its number is never sent twice. If its outcome is unknown, look in the platform's back office whether it was carried out, and say it with resolve. Until then no other one is sent for its account, unless you name it with --although-open NUMBER.":
    '申请先登记再发送，同一编号不会发送两次。结果未知时，请在平台后台查看是否已执行，再用 resolve 登记。在此之前，不会为该账户发送其他申请，除非用 --although-open NUMBER 指明它。',
  'apply for points; on a terminal it asks you first': '申请充值；在终端上会先询问',
  'points account, as dirsync accounts shows it': '积分账户，见 dirsync accounts',
  'amount to apply for, such as 5000.00': '申请金额，例如 5000.00',
  'external business number; starts with the application id (default: a new one)':
    '外部业务单号；以应用 ID 开头（默认自动生成）',
  'taxpayer name; this or --identifier is needed': '纳税主体名称；与 --identifier 至少填一项',
  'payment method (default 1, bank transfer)': '支付方式（默认 1，银行转账）',
  'who applies, in at most 100 characters': '申请人，不超过 100 个字符',
  'whom to tell when the amount has arrived': '到账时通知的邮箱',
  'as --email; mainland numbers only': '到账时通知的手机号；仅限大陆号码',
  'note, in at most 150 characters': '备注，不超过 150 个字符',
  'remark printed on the invoice': '发票上的备注',
  'supplementary note about the invoice': '发票的补充说明',
  'send it even though top-up <number> of this account is still open; repeat for several':
    '即使该账户的充值 <number> 结果未定也照常发送；多个可重复使用',
  "The file holds the platform's request (see dirsync platform enterprise/account/applyCharge --help); flags override its fields.":
    '文件内容为平台的请求（见 dirsync platform enterprise/account/applyCharge --help）；选项会覆盖其中的字段。',
  'external business number': '外部业务单号',
  'the back office shows it': '后台已显示',
  'call one operation of the platform, and show its answer': '调用平台的一个接口，并显示其答复',
  'its path, such as employee/get': '接口路径，例如 employee/get',
  '--field value, for each field of the operation; --json': '接口的每个字段用 --field value 给出；--json',
  'Without an operation, lists them all; OPERATION --help lists its fields. --json alone prints the answer, or the list, as one JSON document; --json FILE reads the request from a file (- for standard input), whose fields the flags override. The answer is shown unmasked, as dirsync reads it: without fields that it does not know, and with the times of orders in UTC. An operation that moves money asks on a terminal first, and needs --yes elsewhere.':
    '不指定接口时列出全部接口；OPERATION --help 列出其字段。单独的 --json 以一个 JSON 文档输出答复或该列表；--json FILE 从文件（- 为标准输入）读取请求，选项会覆盖其中的字段。答复不脱敏，按 dirsync 读取后的内容显示：不含其不认识的字段，订单时间为 UTC。涉及资金的接口在终端上会先询问，其他情况需要 --yes。',
  'check settings, databases, queue, mapping, clock and credentials':
    '检查设置、数据库、队列、字段映射、时钟和凭证',
  'One line per check: ok, warn (works, but read it) or FAIL, with what to do. Exit 1 when something fails. Nothing is changed, except that an access token is created where there is none. Where the platform refuses the application (1000210003), doctor tries the other signature algorithms, once each, and names the one that works.':
    '每项检查一行：正常、警告（可以工作，但请留意）或失败，并说明如何处理。有失败时退出码为 1。除了在没有访问令牌时创建一个之外，不作任何变更。如果平台不接受应用（1000210003），会将其他签名算法各尝试一次，并指出可用的算法。',
  'check HR and its mapping, begin one, or install the optional trigger':
    '检查人事数据及字段映射、开始编写映射，或安装可选的触发器',
  'Everything in dirsync only reads HR, but for install-trigger and remove-trigger. These write to it, with the address of a user who may: --url, or HR_DATABASE_URL. check and init need no other settings than those of HR.':
    '除 install-trigger 和 remove-trigger 外，dirsync 只读取人事数据库。这两个命令会写入，需要有相应权限的用户地址：--url 或 HR_DATABASE_URL。check 和 init 只需要人事系统的设置。',
  'ask what the columns of a table in HR mean, and write a first SELECT':
    '询问人事数据库中某张表各列的含义，并写出第一版 SELECT',
  'which of the HR systems of HR_SOURCES': 'HR_SOURCES 中的哪个人事系统',
  'this table, instead of asking for one': '使用此表，不再询问',
  'begin the mapping of departments, instead of that of employees': '编写部门映射，而不是员工映射',
  'where to write it (default employees.sql or departments.sql)':
    '写入的文件（默认 employees.sql 或 departments.sql）',
  'write over a file that is there': '覆盖已有的文件',
  'take all guesses and ask nothing': '全部采用猜测结果，不询问',
  'Needs HR_DATABASE_URL and no other setting. Columns are guessed by their names, in English, pinyin and Chinese, and by what their values look like; no value is shown. Answers may come through a pipe, one to a line.':
    '只需要 HR_DATABASE_URL。根据列名（英文、拼音和中文）和值的样式猜测各列；不显示任何值。回答可以通过管道提供，每行一个。',
  'read all of HR once, and report what is in it and what is wrong with it':
    '完整读取一次人事数据，报告其内容和问题',
  'another SELECT of employees than HR_EMPLOYEES_SQL': '使用另一条员工 SELECT，而不是 HR_EMPLOYEES_SQL',
  'Per column: type, share of empty values, lengths, different values, and the values that break a rule of the platform. Between employees: numbers and addresses that several have, exactly or written in another way. Departments that the platform refuses, or that do not fit the employees. Values are masked. Nothing is written or sent, and no other setting than those of HR is needed. Exit 0 when nothing is wrong, 1 when something is, 2 when the SELECT is.':
    '逐列报告：类型、空值比例、长度、不同的值，以及违反平台规则的值。员工之间：多人共用的号码和地址，包括写法不同的。部门：平台会拒绝的，或与员工不符的。值已脱敏。不写入也不发送任何数据，只需要人事系统的设置。没有问题时退出码为 0，有问题为 1，SELECT 有误为 2。',
  'make the tables behind HR_EMPLOYEES_SQL notify dirsync of every change':
    '让 HR_EMPLOYEES_SQL 所读的表在每次变更时通知 dirsync',
  'the HR database, as a user who may do this (default HR_DATABASE_URL)':
    '人事数据库地址，其用户须有权限（默认 HR_DATABASE_URL）',
  'print the statements, for a DBA to run, and change nothing': '只打印语句，交由 DBA 执行，不作变更',
  'the same as --print': '与 --print 相同',
  'these tables, instead of those that the mapping reads': '使用这些表，而不是映射所读的表',
  'The user needs CREATE on the schema, and must own the tables or be allowed to create triggers on them. A notification holds user ids and nothing else.':
    '该用户需要对 schema 有 CREATE 权限，且须拥有这些表或有权在其上创建触发器。通知只包含员工 ID。',
  'remove what install-trigger installed': '移除 install-trigger 所安装的内容',
  'from these tables, instead of those that no other HR source reads':
    '只从这些表移除；默认移除其他人事数据源均不读取的表上的触发器',
  'say who may use the console: add, list, disable, enable, password, role, notices, sign-out, link, rebind':
    '管理控制台用户：add、list、disable、enable、password、role、notices、sign-out、link、rebind',
  'A viewer looks, a reviewer decides about cases, an operator starts and stops runs, an admin moves money and sees the audit; each may do what those before may. Whoever signs in at the identity provider (OIDC_ISSUER) needs no user here, and is listed once signed in.':
    'viewer 可查看，reviewer 可处理异常项，operator 可启动和停止同步任务，admin 可操作资金和查看审计；后者包含前者的权限。通过身份认证服务（OIDC_ISSUER）登录的人无需在此添加，登录后即会列出。',
  'add a user, with a password that is asked for': '添加用户，并询问密码',
  'what they may do: viewer, reviewer, operator, admin': '权限：viewer、reviewer、operator、admin',
  'name of the user': '用户名',
  'At a terminal the password is asked for twice; otherwise it is the first line of standard input. It has 12 characters or more.':
    '在终端上会询问两次密码；否则取标准输入的第一行。密码至少 12 个字符。',
  'list the users, with their roles and sessions': '列出用户及其角色和会话',
  'keep a user from signing in, and end their sessions': '停用用户，并结束其会话',
  'let a disabled user sign in again': '重新启用已停用的用户',
  'give a user another password, and end their sessions': '为用户更换密码，并结束其会话',
  'give a user another role, from their next request on': '为用户更换角色，下一次请求起生效',
  'print a one-time link, with which they choose a password themselves': '打印一次性链接，由对方自行设置密码',
  'say where a user is told of the cases that are assigned to them': '设置在哪里通知用户有异常项指派给其处理',
  'by mail to this address': '发邮件到该地址',
  'without a mail address: by a mention in the chat of this alert channel':
    '没有邮箱时：在该告警渠道的群里 @ 提醒',
  'What is not given is forgotten. Who signs in at the identity provider has the address that it gives.':
    '未给出的方式会被清除。通过身份认证服务登录的用户，使用该服务提供的邮箱。',
  'end all sessions of a user': '结束用户的所有会话',
  'print an address that signs in once: as an admin, or as one user':
    '打印一个可登录一次的地址：以管理员身份，或以某个用户的身份',
  'Without a name it is for whoever has locked everybody out, or makes the first user in the browser: good for one sign-in within 24 hours, as the user local. A later one, or the end of the sessions of local, makes it worthless. With a name, that user is signed in, within 72 hours, and may choose another password. It is recorded who asked for it.':
    '不带用户名时，用于所有人都无法登录的情况，或在浏览器中创建第一个用户：24 小时内可以用户 local 的身份登录一次；之后再生成一个，或结束 local 的会话，它即作废。带用户名时，该用户可在 72 小时内登录一次，并可设置新密码。会记录由谁创建。',
  'let the next sign-in at the identity provider be this user': '让下一次通过身份认证服务的登录成为该用户',
  'For an identity provider that has moved or was replaced: its accounts are others, and people are told that their name belongs to another user. Within 72 hours, whoever signs in there first with this name is this user from then on, with the role that they have there and no password here. Somebody who can choose a name there could take it: once the user has come, or by any other command about them, such as users sign-out, it is over.':
    '用于身份认证服务已迁移或更换的情况：账号已不同，登录者会被告知用户名已被他人使用。72 小时内，首先以该用户名在该服务登录者从此即为该用户，角色以该服务授予的为准，此处不再有密码。能够在该服务自选用户名的人可能借此冒用。该用户登录之后，或对该用户执行任何其他命令（例如 users sign-out）之后，即告失效。',
  'keep tokens of the API: add, list, revoke': '管理 API 令牌：add、list、revoke',
  'A program sends its token as "Authorization: Bearer …" and may do what the role of the token may; --scope limits it further. A token is shown once; only its hash is kept.':
    '程序以 "Authorization: Bearer …" 发送令牌，权限由令牌的角色决定，可用 --scope 进一步限制。令牌只显示一次，仅保存其哈希值。',
  'limit it further: read, or screens such as cases or cases:read':
    '进一步限制：read，或 cases、cases:read 等页面',
  'add a token and print it, once': '添加令牌，只显示一次',
  'what it may do: viewer, reviewer, operator, admin': '权限：viewer、reviewer、operator、admin',
  'when it ends, such as 90d, 12h or 2027-01-31': '有效期，例如 90d、12h 或 2027-01-31',
  'what it is for; the audit shows it': '用途；审计中会显示',
  'list the tokens, the newest first': '列出令牌，最新的在前',
  'make a token worthless at once': '立即吊销令牌',
  'name of the token': '令牌名称',
  'switch this database to the platform account that the settings name': '将此数据库切换到设置所指的平台账号',
  'the same account at another address: forget nothing': '同一账号更换地址：不清除任何内容',
  'do it; without it, only show what would be forgotten': '执行切换；不加则只显示将清除的内容',
  'The database remembers what one account of the platform (PLATFORM_BASE_URL and PLATFORM_APP_ID) confirmed, and dirsync refuses to start with another one. This command forgets what was confirmed: hashes, departments, open ids, mirrors, the outbox. Attempts, runs, refunds, top-ups and decisions stay; open cases and runs end. Stop every process of the deployment first.':
    '数据库保存的是一个平台账号（PLATFORM_BASE_URL 和 PLATFORM_APP_ID）已确认的内容，换成另一个账号时 dirsync 会拒绝启动。此命令清除已确认的内容：哈希值、部门、open id、镜像、待发送数据。处理记录、同步任务、退款、充值和决定会保留；未解决的异常项和未结束的任务会结束。请先停止本部署的全部进程。',
  'run the stand-alone platform, for trials and tests': '运行独立的模拟平台，供试用和测试',
  'port to listen on; 0: any free one': '监听端口；0 表示任意空闲端口',
  'address to listen on': '监听地址',
  'application id that it accepts; without it, PLATFORM_APP_ID, or demo-application':
    '所接受的应用 ID；不加则为 PLATFORM_APP_ID，未设置时为 demo-application',
  'secret of the application; without it, PLATFORM_APP_SECRET, or a random one, which it prints':
    '应用密钥；不加则为 PLATFORM_APP_SECRET，未设置时随机生成并显示',
  'file with the secret': '保存密钥的文件',
  'signature algorithm; without it, PLATFORM_SIGN_ALGORITHM, or sha256':
    '签名算法；未给出时使用 PLATFORM_SIGN_ALGORITHM 或 sha256',
  'refuse unknown parameters and unknown or null body members, which are ignored without it, and calls without enterprise_code where only other enterprises hold something':
    '拒绝未知的参数以及未知或为 null 的请求体成员（不加则忽略），以及仅其他企业有数据时不带 enterprise_code 的调用',
  'keep the state in this file; without it, in memory': '将状态保存在此文件中；不加则保存在内存中',
  'JSON file with what an empty platform holds at first': 'JSON 文件，空平台的初始内容',
  'list them, those whose outcome is open first': '列出全部，结果未定的在前',
  'required; ': '必填；',
  'It takes no fields.': '此接口没有字段。',
  'points or limit account, as dirsync accounts shows it': '积分账户或额度账户，见 dirsync accounts',
  'who applies': '申请人',
  'date of birth, such as 1990-05-17 or 05-17': '出生日期，例如 1990-05-17 或 05-17',
  'document number': '证件号码',
  '1 identity card, 2 passport': '1 身份证，2 护照',
  'employee categories': '员工类别',
  'work number': '工号',
  '1 with service-fee records, 2 without (default)': '1 包含服务费记录，2 不包含（默认）',
  'cost center, a number': '成本中心，数字',
  'settlement price, such as 10.00': '结算价，例如 10.00',
  'department code': '部门编码',
  'e-mail address': '邮箱',
  'e-mail address to tell when the amount has arrived': '到账时通知的邮箱',
  'JSON list of {"attributeCode": "…", "attributeValue": "…"}':
    'JSON 列表，元素为 {"attributeCode": "…", "attributeValue": "…"}',
  'enterprise (default PLATFORM_ENTERPRISE_CODE); needed in a group':
    '企业编码（默认 PLATFORM_ENTERPRISE_CODE）；集团必填',
  'date of entry, such as 2024-03-01': '入职日期，例如 2024-03-01',
  'external business number; starts with the application id': '外部业务单号；以应用 ID 开头',
  '1 male, 2 female, 3 unknown': '1 男，2 女，3 未知',
  'employee grade': '员工职级',
  'phone number': '手机号',
  'mainland number to tell when the amount has arrived': '到账时通知的手机号，仅限大陆号码',
  'area code of the phone number (default 86)': '手机区号（默认 86）',
  'name of the employee': '员工姓名',
  'new work number, letters and digits': '新工号，字母和数字',
  'address to be notified when the refund completes': '退款完成时接收通知的地址',
  'external refund number; starts with the application id': '外部退款单号；以应用 ID 开头',
  'external trade number of the order; starts with the application id': '订单的外部交易号；以应用 ID 开头',
  'page, from 1 (default)': '页码，从 1 起（默认）',
  'rows of a page, at most 100 (default 20)': '每页行数，最多 100（默认 20）',
  'rows of a page, at most 100 (default 50)': '每页行数，最多 100（默认 50）',
  'why it is refunded': '退款原因',
  note: '备注',
  'application id of the merchant, of at most 8 characters': '商户的应用 ID，不超过 8 个字符',
  'payment method: 0 default provider, 1 bank transfer': '支付方式：0 默认渠道，1 银行转账',
  'name of the taxpayer': '纳税主体名称',
  '1 general, 2 small-scale (default)': '1 一般纳税人，2 小规模纳税人（默认）',
  'kind of integration, from 1 to 5 (default 5, standard)': '对接类型，1 至 5（默认 5，标准）',
  'last day, such as 2026-11-21': '截止日期，例如 2026-11-21',
  'first day, such as 2026-11-01': '起始日期，例如 2026-11-01',
  'order information: a JSON object, see below': '订单信息：JSON 对象，见下文',
  'user id of the employee, such as e10172': '员工 ID，例如 e10172',
  'Give at least one of userid, mobile and email.': 'userid、mobile 和 email 至少给出一个。',
  'The value #default# clears birth_day, entry_day, level or category.':
    '值 #default# 会清空 birth_day、entry_day、level 或 category。',
  'Give taxpayer, identifier or both.': '请给出 taxpayer 或 identifier，或两者都给出。',
  'In price-difference mode, give costAmount or tradeInfo. In tradeInfo, isThirdOrders 1 needs thirdOrders, 2 needs goodsDetail.':
    '差价模式下请给出 costAmount 或 tradeInfo。tradeInfo 中 isThirdOrders 为 1 时需要 thirdOrders，为 2 时需要 goodsDetail。',
  'It moves money. It asks on a terminal and needs --yes elsewhere; it is sent once, and dirsync never sends the same number again.':
    '此操作涉及资金。在终端上会先询问，其他情况需要 --yes；只发送一次，dirsync 不会再次发送同一编号。',
}

/** What commander says of arguments that it refuses, in its own words, and the Chinese of it. */
export const REFUSALS: readonly [RegExp, string][] = [
  [/^missing required argument '(.*)'$/, "缺少参数 '$1'"],
  [/^option '(.*)' argument missing$/, "选项 '$1' 缺少值"],
  [/^required option '(.*)' not specified$/, "缺少必需的选项 '$1'"],
  [/^option '(.*)' cannot be used with option '(.*)'$/, "选项 '$1' 不能与 '$2' 同时使用"],
  [
    /^option '(.*)' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/,
    "选项 '$1' 的值 '$2' 无效，可选值为 $3",
  ],
  [/^unknown option '(.*)'/, "未知的选项 '$1'"],
  [/^unknown command '(.*)'/, "未知的命令 '$1'"],
  [/^too many arguments.* but got \d+: (.*)\.$/, '参数过多：$1'],
  [/\(Did you mean (?:one of )?(.*)\?\)$/, '（您是否想输入 $1？）'],
]
