/** Texts of the section `auth`: signing in and out. */
export const auth = {
  'auth.title': 'Sign in',
  'auth.name': 'User name',
  'auth.password': 'Password',
  'auth.submit': 'Sign in',
  'auth.or': 'or',
  'auth.oidc': 'Sign in with your company account',
  'auth.wrong': 'The user name or the password is wrong.',
  'auth.slowed':
    'Too many sign-ins have failed. Wait for {seconds, plural, one {# second} other {# seconds}}, then try again.',
  'auth.busy': 'Too many people are signing in right now. Try again in a few seconds.',
  'auth.signed_out': 'You are signed out.',
  'auth.no_users': 'There are no users yet',
  'auth.no_users.remedy': 'Or add the first user there yourself:',
  'auth.first.key':
    'To make the first administrator here, you need a one-time key: dirsync start prints one at a terminal, and so does this, on the machine where dirsync runs:',
  'auth.key': 'One-time key',
  'auth.continue': 'Continue',
  'auth.first.title': 'Make the first administrator',
  'auth.first.text':
    'Nobody can sign in here yet. Choose a name and a password: you can add your colleagues then.',
  'auth.first.submit': 'Make me the administrator',
  'auth.first.or': 'Or just have a look',
  'auth.first.late': 'Somebody else was first',
  'auth.first.late.remedy':
    'There is a user already: ask them to add you. If you can no longer sign in, this prints a link, on the machine where dirsync runs:',
  'auth.link.title': 'Sign in with a one-time link',
  'auth.link.text': 'This link signs you in once, as {name} ({role}). Then choose a password.',
  'auth.link.used': 'This link is no longer valid',
  'auth.link.used.remedy':
    'A link works once, within 72 hours, and until there is a later one. Ask an administrator for another, or sign in with your password.',
  'auth.key.title': 'Sign in with a one-time key',
  'auth.key.text': 'This key signs you in once, as an administrator.',
  'auth.key.used': 'This key is no longer valid',
  'auth.key.used.remedy':
    'A key works once, for at most 24 hours, and until it is replaced or withdrawn. Print a new link on the machine where dirsync runs:',
  'auth.oidc.away': 'The identity provider does not answer',
  'auth.oidc.away.remedy':
    'Try again in a minute. If you have a password here, you can sign in with it meanwhile.',
  'auth.oidc.refused': 'Signing in at the identity provider failed',
  'auth.oidc.refused.remedy':
    'Start again. If it fails again, ask an administrator to search the console’s log for “{reason}”.',
  'auth.oidc.expired': 'This sign-in has expired',
  'auth.oidc.expired.remedy':
    'It took longer than ten minutes, was already used, or was started in another browser. Start again.',
  'auth.oidc.no_role': 'You have no role in this console',
  'auth.oidc.no_role.remedy':
    'The identity provider knows you, but none of your groups may use dirsync. Ask to be added to one, then sign in again.',
  'auth.oidc.disabled': 'You may not sign in here',
  'auth.oidc.disabled.remedy': 'An administrator has disabled your user in this console.',
  'auth.oidc.taken': 'Your name belongs to another user here',
  'auth.oidc.taken.remedy':
    '{name, select, local {The name “local” is that of the one-time keys: the identity provider has to give you another one.} other {This console has another user “{name}”. If that is you, since the identity provider has moved or you had a password here, ask an administrator for `dirsync users rebind {name}`; then sign in again within 72 hours.}}',
  'auth.oidc.signed_out':
    'You are signed out of the console. You may still be signed in with your company account. On a shared computer, sign out there as well.',
  'auth.oidc.sign_out': 'You are signed out of the console',
  'auth.oidc.sign_out.text':
    'You are still signed in with your company account. You are being signed out there too.',
  'auth.oidc.sign_out.continue': 'Sign out there',
  'auth.again': 'Back to the sign-in',
} as const
