// The first version: records of version 1, in tables of version 1.

import database from "./fixtures/v0.1/database.json";
import cases from "./fixtures/v0.1/expected.json";
import { readsAsBefore } from "./support/stored.mjs";

const databases = database.databases.map(({ shard, statements }) => ({ object: shard, statements }));
readsAsBefore({ version: "version 0.1", databases }, cases);
