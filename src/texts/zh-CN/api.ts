import type { api as English } from '../en/api.ts'
import type { Section } from '../section.ts'

export const api = {
  'api.title': 'API',
  'api.intro': '控制台能查看和执行的一切，程序都可以通过 /api/v1 完成，角色与审计完全相同。',
  'api.token': '程序需要令牌，由管理员在“访问权限”中添加，或在命令行中创建：',
  'api.try': '程序每次请求都要带上令牌。点击下面的路径可查看字段和示例。',
  'api.refusals': '被拒绝的请求都以同一格式答复，并附有含义说明的链接：',
  'api.started':
    '启动工作的请求答复 `202`，创建内容的请求答复 `201`，`Location` 中是其地址。`GET /api/v1/runs/12?wait=30` 会等到同步任务 12 结束再答复。',
  'api.keys': '发送 `POST` 时可带上自定的 `Idempotency-Key`：一天内重复发送也只执行一次。',
  'api.follow':
    '`GET /api/v1/events` 持续推送同步任务和异常项的变化；重新连接时带上 `Last-Event-ID`，不会遗漏。',
  'api.method': '方法',
  'api.path': '路径',
  'api.summary': '用途',
  'api.role': '角色',
  'api.scopes': '受限令牌的使用范围',
  'api.operation': '操作名',
  'api.parameters': '参数',
  'api.name': '名称',
  'api.in': '位置',
  'api.type': '类型',
  'api.required': '必填',
  'api.meaning': '含义',
  'api.body': '请求体（JSON）',
  'api.answer': '响应（JSON）',
  'api.example': '示例',
  'api.status': '状态码',
  'api.problem_code': '代码',
  'api.problems': '错误类型',
  'api.not_found': '未找到',
  'api.problems_intro': 'API 拒绝请求的原因：错误文档（RFC 9457）的各种类型。点击可查看含义和处理方法。',
  'problem.malformed': '无法解析地址、请求头或请求体，因此未执行任何操作。请修正请求；原样重发仍会失败。',
  'problem.unauthorized':
    '请求没有凭证，或凭证错误、过期、已吊销。程序需在请求头 "Authorization: Bearer" 中带上令牌；人员需登录。',
  'problem.forbidden': '调用者的角色不能执行此操作。API 说明中列出了每个操作所需的角色。',
  'problem.out_of_scope':
    '令牌的使用范围不包括此操作。/api/v1/me 的 `scopes` 列出了其范围；如需更多，请管理员添加另一个令牌。',
  'problem.read_only': '已设置 CONSOLE_READ_ONLY，此控制台不做任何更改。请使用本部署的其他控制台或命令行。',
  'problem.cross_site': '浏览器从其他网站的页面发来此更改，已拒绝。程序应使用令牌，而不是 Cookie。',
  'problem.not_found': '该地址下没有内容：地址有误，或内容已被移除。',
  'problem.no_such_method': '地址存在，但不支持此请求方法。响应头 Allow 列出了可用的方法。',
  'problem.changed': '其他人或 dirsync 已先行更改，该请求不再适用，未执行任何操作。请读取最新状态后再决定。',
  'problem.locked':
    '另一事务正在更改该请求涉及的内容：有人在 SQL 中作出决定而尚未提交，或 dirsync 正在更改。未执行任何操作，请一分钟后重试。',
  'problem.key_in_use':
    '使用同一 Idempotency-Key 的请求已经开始，但尚无保存的答复：仍在进行，或已中断。请查看其结果，必要时使用新的 Idempotency-Key。',
  'problem.too_large': '请求体超过 dirsync 可读取的大小，未执行任何操作。',
  'problem.media_type': 'dirsync 不支持请求体的 Content-Type。API 只读取 JSON。',
  'problem.misdirected': '请求中的主机名不属于此控制台。未设置 CONSOLE_URL 时，控制台只响应本机的名称。',
  'problem.invalid':
    '请求可以读取，但其中的某个值不可用，未执行任何操作。`errors` 列出每个值的位置：请求体中的 JSON Pointer，或参数名、请求头名。',
  'problem.paused': '此操作需要调用平台，而全部调用已被人为暂停，因此未执行任何操作。请恢复后重试。',
  'problem.key_refused':
    '此操作只读取数据，或其答复含有不能保存的内容（如密钥）。dirsync 无法重复首次答复，因此拒绝而不是忽略 Idempotency-Key。',
  'problem.too_many':
    '调用者的请求过于频繁。响应头 Retry-After 给出重试前应等待的秒数，RateLimit 给出剩余额度。',
  'problem.internal':
    'dirsync 内部出错，无法确定请求是否生效。可按答复中的 reference 在控制台日志中查找原因。',
  'problem.database':
    'dirsync 的数据库未及时响应，无法确定更改是否生效；带有 Idempotency-Key 的请求不会重复执行。',
  'problem.hr': 'HR 未及时响应或拒绝了请求，未更改任何数据。',
  'problem.mapping':
    '映射无法读取或执行，或其返回的行无法使用。未更改任何数据；detail 指出需要更正的是映射、HR 中的权限还是数据。',
} as const satisfies Section<typeof English>
