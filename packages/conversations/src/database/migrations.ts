/**
 * What makes a file of version n one of version n + 1, by n. Entries are never changed once they were released: files of that
 * version are out there. Large columns come last, so that what lists need is read without them. `change` numbers all changes,
 * because clocks are set back, and two changes may fall into one millisecond.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE conversations (
     key INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     change INTEGER NOT NULL UNIQUE,
     title TEXT NOT NULL,
     model TEXT,
     settings TEXT NOT NULL,
     system_prompt TEXT NOT NULL
   ) STRICT;

   CREATE TABLE messages (
     key INTEGER PRIMARY KEY,
     conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
     position INTEGER NOT NULL,
     id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     size INTEGER NOT NULL,
     role TEXT NOT NULL,
     stats TEXT,
     tool TEXT,
     content TEXT NOT NULL,
     reasoning TEXT,
     UNIQUE (conversation, position)
   ) STRICT;`,
];
