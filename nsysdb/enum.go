package nsysdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An enum translates the numbers that an export uses for a kind of thing to the constants of this package.
type enum struct {
	same bool // every number is its own translation
	to   map[int64]int64
	max  int64 // highest constant
}

// value translates one number. A number that the export does not name stays itself where that is no constant, else it
// moves out of their way.
func (e *enum) value(n int64) int64 {
	if e.same || n == Null {
		return n
	}
	if v, ok := e.to[n]; ok {
		return v
	}
	return e.stranger(n)
}

// outOfWay is added to a number of the export's that would pass for a constant here, and is none.
const outOfWay = 1000

// stranger translates a number that has no meaning here.
func (e *enum) stranger(n int64) int64 {
	if n >= 0 && n <= e.max {
		return n + outOfWay
	}
	return n
}

// apply translates a column in place. A nil enum leaves it as it is.
func (e *enum) apply(vs []int64) {
	if e == nil || e.same {
		return
	}
	for i, v := range vs {
		vs[i] = e.value(v)
	}
}

// An enumSpec says where an export names its numbers, and what the names mean. The names end alike in all versions;
// the labels beside them are for people and now and then misspelt.
type enumSpec struct {
	table  string
	marker string   // what follows its last occurrence in a name is looked up in tails
	tails  []string // by the constants of this package
}

var memKindEnum = enumSpec{"ENUM_CUDA_MEM_KIND", "KIND_", []string{
	KindPageable: "PAGEABLE", KindPinned: "PINNED", KindDevice: "DEVICE", KindArray: "ARRAY", KindManaged: "MANAGED",
	KindDeviceStatic: "DEVICE_STATIC", KindManagedStatic: "MANAGED_STATIC", KindUnknown: "UNKNOWN"}}

var memOpEnum = enumSpec{"ENUM_CUDA_DEV_MEM_EVENT_OPER", "OPR_", []string{
	OpAlloc: "ALLOCATION", OpFree: "DEALLOCATION"}}

var poolOpEnum = enumSpec{"ENUM_CUDA_MEMPOOL_OPER", "TYPE_", []string{
	PoolInvalid: "INVALID", PoolCreated: "CREATED", PoolDestroyed: "DESTROYED", PoolTrimmed: "TRIMMED"}}

var copyEnum = enumSpec{"ENUM_CUDA_MEMCPY_OPER", "KIND_", []string{
	CopyUnknown: "UNKNOWN", CopyHtoD: "HTOD", CopyDtoH: "DTOH", CopyHtoA: "HTOA", CopyAtoH: "ATOH", CopyAtoA: "ATOA",
	CopyAtoD: "ATOD", CopyDtoA: "DTOA", CopyDtoD: "DTOD", CopyHtoH: "HTOH", CopyPtoP: "PTOP", CopyUMHtoD: "UVM_HTOD",
	CopyUMDtoH: "UVM_DTOH", CopyUMDtoD: "UVM_DTOD"}}

// readEnum reads an enum of the export; without its table the numbers are taken as they are.
func (s *schema) readEnum(spec enumSpec) (*enum, []Warning, error) {
	e := &enum{same: true, to: map[int64]int64{}, max: int64(len(spec.tails)) - 1}
	rows, err := s.enumRows(spec.table)
	if err != nil || len(rows) == 0 {
		return e, nil, err
	}
	var strange []string
	for _, r := range rows {
		tail := strings.ToUpper(r.name)
		if i := strings.LastIndex(tail, spec.marker); i >= 0 {
			tail = tail[i+len(spec.marker):]
		}
		v := int64(slices.Index(spec.tails, tail))
		if v < 0 {
			strange = append(strange, fmt.Sprintf("%d %s", r.id, r.name))
			v = e.stranger(r.id)
		}
		e.to[r.id] = v
		e.same = e.same && v == r.id
	}
	// Numbers within the constants' range that the export does not name must not pass for constants.
	for n := range e.max + 1 {
		_, named := e.to[n]
		e.same = e.same && named
	}
	if strange != nil {
		text := fmt.Sprintf("%s names numbers that are not known here: %s", spec.table, strings.Join(strange, ", "))
		return e, []Warning{{"unknown-enum", text}}, nil
	}
	return e, nil, nil
}

type enumRow struct {
	id   int64
	name string
}

// enumRows are the rows of an enum table, nil where there is no such table.
func (s *schema) enumRows(name string) ([]enumRow, error) {
	t, _, err := s.find(name)
	if err != nil || t.col("id") < 0 || t.col("name") < 0 {
		return nil, err
	}
	var rows []enumRow
	err = s.c.query(`SELECT "id", "name" FROM `+ident(t.name), func(r *stmt) {
		rows = append(rows, enumRow{r.int(0), r.string(1)})
	})
	return rows, err
}

var memKindNames = [...]string{
	KindPageable: "pageable", KindPinned: "pinned", KindDevice: "device", KindArray: "array", KindManaged: "managed",
	KindDeviceStatic: "device static", KindManagedStatic: "managed static", KindUnknown: "unknown",
}

// MemKindName is the name of a kind of memory: "device", "device static", or "kind 9" for a number without a name.
func MemKindName(n int64) string {
	switch {
	case n == Null:
		return memKindNames[KindUnknown]
	case n >= 0 && n <= KindUnknown:
		return memKindNames[n]
	case n >= outOfWay && n <= outOfWay+KindUnknown:
		n -= outOfWay
	}
	return "kind " + strconv.FormatInt(n, 10)
}
