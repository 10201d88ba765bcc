-- token: gpuboard~gpu01~vtXf16UvULC_b6Ru50D2v2b9o08vMQcm7ht7QG0iz14
BEGIN TRANSACTION;
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:18377/');
INSERT INTO "facts" VALUES('node_tokens_generation','55436f1f95e380bc');
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('16c98c2cff77054a49ef87a013893962462f7dad1ddb3a57681d8ead98a5a249','gpu01',1.79506341178200173381e+09,NULL,NULL);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79506340799785804747e+09);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
COMMIT;
