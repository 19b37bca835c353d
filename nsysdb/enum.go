package nsysdb

import (
	"fmt"
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
	marker string // what follows its last occurrence in a name is looked up in tails
	tails  map[string]int64
	max    int64
}

var memKindEnum = enumSpec{"ENUM_CUDA_MEM_KIND", "KIND_", map[string]int64{
	"PAGEABLE": KindPageable, "PINNED": KindPinned, "DEVICE": KindDevice, "ARRAY": KindArray, "MANAGED": KindManaged,
	"DEVICE_STATIC": KindDeviceStatic, "MANAGED_STATIC": KindManagedStatic, "UNKNOWN": KindUnknown}, KindUnknown}

var memOpEnum = enumSpec{"ENUM_CUDA_DEV_MEM_EVENT_OPER", "OPR_", map[string]int64{
	"ALLOCATION": OpAlloc, "DEALLOCATION": OpFree}, OpFree}

var poolOpEnum = enumSpec{"ENUM_CUDA_MEMPOOL_OPER", "TYPE_", map[string]int64{
	"INVALID": PoolInvalid, "CREATED": PoolCreated, "DESTROYED": PoolDestroyed, "TRIMMED": PoolTrimmed}, PoolTrimmed}

var copyEnum = enumSpec{"ENUM_CUDA_MEMCPY_OPER", "KIND_", map[string]int64{
	"UNKNOWN": CopyUnknown, "HTOD": CopyHtoD, "DTOH": CopyDtoH, "HTOA": CopyHtoA, "ATOH": CopyAtoH, "ATOA": CopyAtoA,
	"ATOD": CopyAtoD, "DTOA": CopyDtoA, "DTOD": CopyDtoD, "HTOH": CopyHtoH, "PTOP": CopyPtoP, "UVM_HTOD": CopyUMHtoD,
	"UVM_DTOH": CopyUMDtoH, "UVM_DTOD": CopyUMDtoD}, CopyUMDtoD}

// readEnum reads an enum of the export; without its table the numbers are taken as they are.
func (s *schema) readEnum(spec enumSpec) (*enum, []Warning, error) {
	e := &enum{same: true, to: map[int64]int64{}, max: spec.max}
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
		v, ok := spec.tails[tail]
		if !ok {
			strange = append(strange, fmt.Sprintf("%d %s", r.id, r.name))
			v = e.stranger(r.id)
		}
		e.to[r.id] = v
		e.same = e.same && v == r.id
	}
	// Numbers within the constants' range that the export does not name must not pass for constants.
	for n := int64(0); n <= spec.max; n++ {
		if _, ok := e.to[n]; !ok {
			e.same = false
		}
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
	case n >= 0 && n < int64(len(memKindNames)):
		return memKindNames[n]
	case n >= outOfWay && n < outOfWay+int64(len(memKindNames)):
		n -= outOfWay
	}
	return "kind " + strconv.FormatInt(n, 10)
}
