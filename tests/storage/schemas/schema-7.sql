-- token: gpuboard~gpu01~R8peDoUZLw4OJ7N3zJVhScPrOfkEpdNQFSH2cl7GeZs
BEGIN TRANSACTION;
CREATE TABLE audit (
            id VARCHAR PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who VARCHAR, what VARCHAR NOT NULL,
            way VARCHAR, through VARCHAR, address VARCHAR, detail VARCHAR);
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:8042/');
INSERT INTO "facts" VALUES('node_tokens_generation','cfb915e1833f82ad');
CREATE TABLE folder_marks (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE folder_owners (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE kept_claims (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE known_browsers (
            digest VARCHAR NOT NULL, person VARCHAR NOT NULL, seen_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (digest, person));
CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('1437a740dd97989330032600259328394dcd9cfc09c7e2bcb97f868d434ee696','gpu01',1.79498915145997023582e+09,NULL,NULL);
CREATE TABLE people (
            name VARCHAR PRIMARY KEY, role VARCHAR NOT NULL, display_name VARCHAR, password VARCHAR,
            created_at DOUBLE PRECISION NOT NULL);
CREATE TABLE person_tokens (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            name VARCHAR NOT NULL, kind VARCHAR NOT NULL, scopes VARCHAR NOT NULL, way VARCHAR NOT NULL,
            through VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION,
            expires_at DOUBLE PRECISION);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79498915133959603303e+09);
INSERT INTO "schema_versions" VALUES(2,1.7949891513602387905e+09);
INSERT INTO "schema_versions" VALUES(3,1.79498915136046934123e+09);
INSERT INTO "schema_versions" VALUES(4,1.79498915136064910889e+09);
INSERT INTO "schema_versions" VALUES(5,1.79498915136081862442e+09);
INSERT INTO "schema_versions" VALUES(6,1.79498915136097121235e+09);
INSERT INTO "schema_versions" VALUES(7,1.79498915137240529064e+09);
CREATE TABLE sessions (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, earlier_digest VARCHAR,
            exchanged_at DOUBLE PRECISION NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            display_name VARCHAR, way VARCHAR NOT NULL, through VARCHAR, groups VARCHAR NOT NULL,
            address VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE sign_in_links (
            digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            way VARCHAR NOT NULL, through VARCHAR, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE UNIQUE INDEX person_tokens_by_digest ON person_tokens (digest);
CREATE INDEX person_tokens_by_person ON person_tokens (person);
COMMIT;
