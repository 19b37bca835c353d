package nsysdb

import (
	"fmt"
	"strings"
)

// ofExport says whether only an export of Nsight Systems would have a table of that name.
func ofExport(name string) bool {
	others := []string{"NVTX_EVENTS", "META_DATA_EXPORT", "EXPORT_META_DATA", "META_DATA_CAPTURE", "StringIds"}
	for _, base := range append(tableNames[:], others...) {
		if version(base, name) > 0 {
			return true
		}
	}
	return strings.HasPrefix(name, "CUPTI_ACTIVITY_KIND_") || strings.HasPrefix(name, "TARGET_INFO_")
}

// discover finds the event tables, their columns and the export's own numbers for kinds and operations.
func (db *DB) discover() (err error) {
	for t := range numTables {
		db.tables[t], err = db.findEvents(tableNames[t])
		if err != nil && t == CallChain && !isDamage(err) { // such as a view of what is not there: the rest tells as much without it
			db.tables[t], err = nil, nil
		}
		if err != nil {
			return err
		}
		for c := range numColumns {
			db.cols[t][c] = db.tables[t].col(columnNames[c]...)
		}
	}
	if db.nvtx, err = db.findEvents("NVTX_EVENTS"); err != nil {
		return err
	}
	if err := db.discoverEnums(); err != nil {
		return err
	}
	if db.nvtxKind, err = db.schema.readNVTXKinds(); err != nil {
		return err
	}
	ids, _, err := db.schema.find("StringIds")
	if err != nil {
		return err
	}
	db.strs = newStringTable(db, ids)
	return nil
}

// findEvents finds a table of events, nil where there is none, and warns where its version is in doubt.
func (db *DB) findEvents(base string) (*table, error) {
	found, others, err := db.schema.find(base)
	var doubt string
	if len(others) > 0 {
		doubt = fmt.Sprintf("%s is read; %s has rows too and is not read", found.name, strings.Join(others, ", "))
	} else if found != nil && !strings.EqualFold(found.name, base) {
		doubt = fmt.Sprintf("%s stands in the export as %s: its columns may mean something else there", base, found.name)
	}
	if doubt != "" {
		db.warnings = append(db.warnings, Warning{"table-version", doubt})
	}
	return found, err
}

// discoverEnums reads what the export calls the numbers in columns that are translated.
func (db *DB) discoverEnums() error {
	for _, use := range []struct {
		spec  enumSpec
		table []Table
		col   Column
	}{
		{memKindEnum, []Table{MemoryUsage, Memset}, MemKind},
		{memOpEnum, []Table{MemoryUsage}, Operation},
		{poolOpEnum, []Table{MemoryPool}, Operation},
		{copyEnum, []Table{Memcpy}, CopyKind},
	} {
		e, warnings, err := db.schema.readEnum(use.spec)
		if err != nil {
			return err
		}
		db.warnings = append(db.warnings, warnings...)
		for _, t := range use.table {
			db.enums[t][use.col] = e
		}
	}
	return nil
}
