/** Texts of the page that describes the API. */
export const api = {
  'api.title': 'API',
  'api.intro':
    'Programs can do everything that this console shows or does under /api/v1, with the same roles and the same audit.',
  'api.token': 'A program needs a token. Administrators add one under Access, or in the shell:',
  'api.try': 'The program sends it with every request. The links below lead to fields and examples.',
  'api.refusals': 'What is refused is answered in one form, with a link to what it means:',
  'api.started':
    'What starts work is answered `202`, and what creates something `201`, with its address in `Location`. `GET /api/v1/runs/12?wait=30` answers once run 12 is over.',
  'api.keys':
    'Send an `Idempotency-Key` of your own with a `POST`: repeated within a day, it does nothing twice.',
  'api.follow':
    '`GET /api/v1/events` is a stream of what happens to runs and cases; open it again with `Last-Event-ID`, and you miss nothing.',
  'api.method': 'Method',
  'api.path': 'Path',
  'api.summary': 'What it does',
  'api.role': 'Role',
  'api.scopes': 'Scopes of limited tokens',
  'api.operation': 'Operation',
  'api.parameters': 'Parameters',
  'api.name': 'Name',
  'api.in': 'In',
  'api.type': 'Type',
  'api.required': 'Required',
  'api.meaning': 'Meaning',
  'api.body': 'Body (JSON)',
  'api.answer': 'Answer (JSON)',
  'api.example': 'Example',
  'api.status': 'Status',
  'api.problem_code': 'Code',
  'api.problems': 'Problems',
  'api.not_found': 'Not found',
  'api.problems_intro':
    'Why the API refuses a request: the kinds of its problem documents (RFC 9457). Each links to what it means and what to do.',
  'problem.malformed':
    'The address, the headers or the body cannot be parsed, so nothing was done. Correct the request; sending it again unchanged fails again.',
  'problem.unauthorized':
    'The request has no credentials, or they are wrong, expired or revoked. Programs send a token in the header "Authorization: Bearer"; people sign in.',
  'problem.forbidden':
    'The role of the caller does not include this. The description of the API names the role of every operation.',
  'problem.out_of_scope':
    'The token is limited, and not to this. `scopes` of /api/v1/me says what it may do; an administrator adds another token.',
  'problem.read_only':
    'This console changes nothing, because CONSOLE_READ_ONLY is set. Another console of the deployment, or the shell, can.',
  'problem.cross_site':
    'A browser sent this change from the page of another site, so it was refused. Programs send a token instead of a cookie.',
  'problem.not_found':
    'There is nothing at this address: it is misspelt, or what was there has been removed.',
  'problem.no_such_method':
    'The address exists, but not for this method. The header Allow lists the methods that it takes.',
  'problem.changed':
    'Another person or dirsync itself was quicker, so the request no longer fits, and nothing was done. Read the current state and decide again.',
  'problem.locked':
    'Another transaction is changing what the request is about: that of a reviewer who has decided in SQL and not committed yet, or one of dirsync itself. Nothing was done. Try again in a minute.',
  'problem.key_in_use':
    'A request with the same Idempotency-Key has begun and has no stored answer: it is still running, or was cut off. See what it has done; then use a new key if need be.',
  'problem.too_large': 'The body is larger than dirsync reads, so nothing was done.',
  'problem.media_type': 'The Content-Type of the body is not one that dirsync reads. The API reads JSON.',
  'problem.misdirected':
    'The request names a host that is not this console. Without CONSOLE_URL, a console answers only to the names of its own machine.',
  'problem.invalid':
    'The request was understood, but a value in it is not possible, so nothing was done. `errors` names each value: by a JSON Pointer into the body, or by its parameter or header.',
  'problem.paused':
    'The operation needs a call to the platform, and a person has paused all calls. Nothing was done. Resume them, and try again.',
  'problem.key_refused':
    'The operation only reads, or its answer holds what must not be stored, such as a secret. dirsync cannot repeat its first answer, and rather refuses the key than ignores it.',
  'problem.too_many':
    'The caller has made too many requests. The header Retry-After says after how many seconds to try again; RateLimit says what is left.',
  'problem.internal':
    'dirsync failed. Whether the request took effect is unknown. The log of the console has the cause under the reference of the answer.',
  'problem.database':
    'dirsync’s own database did not answer in time. Whether a change took effect is unknown; with an Idempotency-Key it is never made twice.',
  'problem.hr': 'HR did not answer in time, or refused to. Nothing was changed.',
  'problem.mapping':
    'The mapping cannot be read or carried out, or its rows cannot be used. Nothing was changed. The detail names what to correct: the mapping, rights in HR or rows.',
} as const
