-- token: gpuboard~gpu01~GeBgeUxzniEa2h7mUSG4wXngbyvF2Y_VmJ5mtRRSit0
BEGIN TRANSACTION;
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:45157/');
INSERT INTO "facts" VALUES('node_tokens_generation','b85953b30fe5bf30');
CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "node_places" VALUES('vision-01','{"cards":{"0":{"uuid":"GPU-baf95b84-11eb-0e69-8914-88f9ee94b5da","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"1":{"uuid":"GPU-c69f3d40-8a47-8472-6c4d-4c9139fc5b52","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"2":{"uuid":"GPU-2cf2b11f-f9a1-af4f-2c9a-9594af184978","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"3":{"uuid":"GPU-91b9deb3-fb09-9fa7-f427-075e7db45417","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"4":{"uuid":"GPU-250f206f-8781-69da-cd86-5a3d2bee4a1d","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"5":{"uuid":"GPU-d9c2ea46-32c9-abec-e1c3-44d7acc6ec3f","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"6":{"uuid":"GPU-d21cf7c6-13e1-1a87-ce70-94ef5c3ca7bf","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null},"7":{"uuid":"GPU-bde75ce2-6a38-e4df-6c42-72fd5d176ab2","vendor":"nvidia","model":"NVIDIA GeForce RTX 4090","memory_total_bytes":25757220864,"missing_since":null,"replaced_uuid":null,"replaced_at":null}},"unnamed":0,"fewer_since":null}');
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('80d1bf1c9e215cff1f175ec221caedec0e64cba2e4f58a861468a6fec65931d4','gpu01',1.79498682829508352278e+09,NULL,NULL);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79498682362815356258e+09);
INSERT INTO "schema_versions" VALUES(2,1.79498682362873339651e+09);
INSERT INTO "schema_versions" VALUES(3,1.79498682362896156304e+09);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
COMMIT;
