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
  'auth.busy': 'Too many people are signing in at this moment. Try again in a few seconds.',
  'auth.signed_out': 'You are signed out.',
  'auth.no_users': 'Nobody can sign in yet',
  'auth.no_users.remedy': 'Add the first user on the machine where dirsync runs:',
  'auth.link.remedy': 'If you cannot sign in any more, this prints an address that signs you in once:',
  'auth.key.title': 'Sign in with a one-time key',
  'auth.key.text': 'This key signs you in once, as an administrator.',
  'auth.key.used': 'This key is not good any more',
  'auth.key.used.remedy':
    'A key works once, for 24 hours at most, and ends with the next start. Print a new address on the machine where dirsync runs:',
  'auth.oidc.away': 'The identity provider does not answer',
  'auth.oidc.away.remedy':
    'Try again in a minute. Whoever has a password here can sign in with it meanwhile.',
  'auth.oidc.refused': 'The sign-in at the identity provider did not work',
  'auth.oidc.refused.remedy':
    'Begin again. If it fails again, ask an administrator to look into the log of the console for “{reason}”.',
  'auth.oidc.expired': 'This sign-in is not under way any more',
  'auth.oidc.expired.remedy':
    'It took longer than ten minutes, was used already, or was begun in another browser. Begin again.',
  'auth.oidc.no_role': 'You have no role in this console',
  'auth.oidc.no_role.remedy':
    'The identity provider knows you, but none of your groups may use dirsync. Ask for one, then sign in again.',
  'auth.oidc.disabled': 'You may not sign in here',
  'auth.oidc.disabled.remedy': 'An administrator has disabled your user in this console.',
  'auth.oidc.taken': 'Your name belongs to somebody else here',
  'auth.oidc.taken.remedy':
    'This console has another user “{name}”. Ask an administrator to look at `dirsync users list`.',
  'auth.oidc.sign_out': 'You are signed out of the console',
  'auth.oidc.sign_out.text':
    'You are still signed in with your company account. You are being signed out there too.',
  'auth.oidc.sign_out.continue': 'Sign out there',
  'auth.again': 'Back to the sign-in',
} as const
