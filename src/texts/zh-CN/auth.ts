import type { auth as English } from '../en/auth.ts'
import type { Section } from '../section.ts'

export const auth = {
  'auth.title': '登录',
  'auth.name': '用户名',
  'auth.password': '密码',
  'auth.submit': '登录',
  'auth.or': '或',
  'auth.oidc': '使用企业账号登录',
  'auth.wrong': '用户名或密码错误。',
  'auth.slowed': '登录失败次数过多，请等待 {seconds, plural, other {# 秒}}后重试。',
  'auth.busy': '当前登录人数过多，请几秒后重试。',
  'auth.signed_out': '您已退出登录。',
  'auth.no_users': '尚无可登录的用户',
  'auth.no_users.remedy': '也可以直接在该机器上添加第一个用户：',
  'auth.first.key':
    '在这里创建第一个管理员需要一次性密钥：dirsync start 会在终端中打印，也可在运行 dirsync 的机器上用以下命令生成：',
  'auth.key': '一次性密钥',
  'auth.continue': '继续',
  'auth.first.title': '创建第一个管理员',
  'auth.first.text': '目前还没有人可以登录。请设置用户名和密码，之后即可添加同事。',
  'auth.first.submit': '创建管理员',
  'auth.first.or': '或者先看一看',
  'auth.first.late': '已有其他人先创建了管理员',
  'auth.first.late.remedy':
    '已有用户，请联系对方添加您。如果无法登录，可在运行 dirsync 的机器上用以下命令生成登录地址：',
  'auth.link.title': '使用一次性链接登录',
  'auth.link.text': '此链接可登录一次，身份为 {name}（{role}）。登录后请设置密码。',
  'auth.link.used': '此链接已失效',
  'auth.link.used.remedy':
    '链接只能使用一次，72 小时内有效，生成新链接后旧链接作废。请联系管理员重新生成，或用密码登录。',
  'auth.key.title': '使用一次性密钥登录',
  'auth.key.text': '此密钥仅可使用一次，登录后身份为管理员。',
  'auth.key.used': '此密钥已失效',
  'auth.key.used.remedy':
    '密钥只能使用一次，最长有效 24 小时，被替换或撤回后即作废。请在运行 dirsync 的机器上重新生成登录地址：',
  'auth.oidc.away': '身份认证服务无响应',
  'auth.oidc.away.remedy': '请一分钟后重试。在本控制台设有密码的用户可先用密码登录。',
  'auth.oidc.refused': '企业账号登录失败',
  'auth.oidc.refused.remedy': '请重新登录。如仍失败，请联系管理员在控制台日志中查找“{reason}”。',
  'auth.oidc.expired': '本次登录已失效',
  'auth.oidc.expired.remedy': '可能已超过十分钟、已被使用，或是在其他浏览器中发起的。请重新登录。',
  'auth.oidc.no_role': '您在本控制台没有任何角色',
  'auth.oidc.no_role.remedy':
    '企业账号已识别，但您所在的组均无权使用 dirsync。请申请加入相应的组后重新登录。',
  'auth.oidc.disabled': '您不能登录本控制台',
  'auth.oidc.disabled.remedy': '管理员已停用您在本控制台的用户。',
  'auth.oidc.taken': '您的用户名已被他人使用',
  'auth.oidc.taken.remedy':
    '{name, select, local {用户名“local”专用于一次性密钥：请在身份认证服务中改用其他用户名。} other {本控制台已有另一位用户“{name}”。如果就是您本人（身份认证服务已迁移，或您此前在此使用密码），请联系管理员执行 `dirsync users rebind {name}`，然后在 72 小时内重新登录。}}',
  'auth.oidc.signed_out':
    '您已退出控制台，但企业账号可能仍处于登录状态。如与他人共用电脑，请同时退出企业账号。',
  'auth.oidc.sign_out': '您已退出控制台',
  'auth.oidc.sign_out.text': '您的企业账号仍处于登录状态，正在为您一并退出。',
  'auth.oidc.sign_out.continue': '退出企业账号',
  'auth.again': '返回登录页',
} as const satisfies Section<typeof English>
