/** Texts of the page that describes the API. */
export const api = {
  'api.title': 'API',
  'api.intro':
    'Programs can do everything that this console shows or does under /api/v1, with the same roles and the same audit.',
  'api.token': 'A program needs a token. Create one in the shell:',
  'api.try': 'The program sends it with every request. The links below lead to fields and examples.',
  'api.method': 'Method',
  'api.path': 'Path',
  'api.summary': 'What it does',
  'api.role': 'Role',
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
  'api.back': 'All operations',
} as const
