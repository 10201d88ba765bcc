-- token: gpuboard~gpu01~krdWB8AHNRE96iaww9rbpEx_fcjxnUbcOFP6oj0kn_w
BEGIN TRANSACTION;
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:57243/');
INSERT INTO "facts" VALUES('node_tokens_generation','d21202a2424d36e9');
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('91aaadaf55bc2ededad43657b0d147f7cecff7a3a2394b7da7aba86354a2f526','gpu01',1.79498682075610375401e+09,NULL,NULL);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79498681703412437437e+09);
INSERT INTO "schema_versions" VALUES(2,1.79498681703463625904e+09);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
COMMIT;
