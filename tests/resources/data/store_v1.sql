BEGIN TRANSACTION;
CREATE TABLE events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            owner TEXT NOT NULL,
            session TEXT,
            context TEXT,
            kind TEXT NOT NULL,
            body TEXT NOT NULL
        );
INSERT INTO "events" VALUES(1,1700000000.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','session_started','{"kind":"session_started","client":"old client 0.1"}');
INSERT INTO "events" VALUES(2,1700000001.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','candidate_submitted','{"kind":"candidate_submitted","candidate":"cand_11111111111111111111111111111111","problem":"scale","blob":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","parents":[],"operator":null}');
INSERT INTO "events" VALUES(3,1700000002.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','tool_started','{"kind":"tool_started","call":"call-1","tool":"compile","candidate":"cand_11111111111111111111111111111111"}');
INSERT INTO "events" VALUES(4,1700000003.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','tool_finished','{"kind":"tool_finished","call":"call-1","tool":"compile","status":"compiled","candidate":"cand_11111111111111111111111111111111","result_blob":null,"tokens":210,"seconds":0.75,"cached":false,"modelled_speedup":null}');
INSERT INTO "events" VALUES(5,1700000004.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','experiment_started','{"kind":"experiment_started","experiment":"exp_0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b","blob":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","trials":1}');
INSERT INTO "events" VALUES(6,1700000005.0,'ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','trial_opened','{"kind":"trial_opened","experiment":"exp_0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b","trial":"tri_0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c","problem":"scale","checkpoint":"chk_22222222222222222222222222222222","attempt":1,"prompt_hash":"prm_33333333333333333333333333333333","deadline_at":1700003600.0}');
CREATE TABLE handles (
            handle TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            owner TEXT NOT NULL,
            parent TEXT
        ) WITHOUT ROWID;
INSERT INTO "handles" VALUES('exp_0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b','experiment','ada','ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a');
INSERT INTO "handles" VALUES('ses_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a','session','ada',NULL);
INSERT INTO "handles" VALUES('tri_0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c','trial','ada','exp_0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b');
CREATE TABLE objects (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            blob TEXT NOT NULL,
            PRIMARY KEY (owner, id)
        ) WITHOUT ROWID;
INSERT INTO "objects" VALUES('ada','cand_11111111111111111111111111111111','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO "schema_version" VALUES(1);
CREATE INDEX events_by_session ON events (owner, session, seq);
CREATE INDEX events_by_context ON events (owner, context, seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',6);
COMMIT;
