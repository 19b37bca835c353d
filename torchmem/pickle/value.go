package pickle

// A Value is a value of the machine, in eight bytes: a tag and a number, the number being a small integer or a place in
// one of the machine's tables. The zero Value is none at all; it stands for what a dict does not have.
type Value uint64

const (
	tagNothing = iota // the zero Value
	tagNone           // None
	tagInt            // the integer itself, in 56 bits of two's complement
	tagBig            // place in Machine.bigs
	tagFloat          // place in Machine.floats
	tagText           // place in Machine.texts
	tagOpaque         // bytes and sets: their contents are dropped
	tagList           // place in Machine.lists
	tagDict           // place in Machine.dicts
	tagMark           // a mark on the stack
	tagSlot           // place in the slots of a shelf; only there
	tagObject         // the first of the builder's kinds; its number
)

const (
	payloadBits = 56
	payloadMask = 1<<payloadBits - 1
)

func mk(tag, payload int) Value { return Value(uint64(tag)<<payloadBits | uint64(payload)&payloadMask) }
func (v Value) tag() int        { return int(v >> payloadBits) }
func (v Value) n() int          { return int(v & payloadMask) }

// A Kind tells the objects that shapes build apart; at most 200 of them.
type Kind uint8

// Object is a value that stands for object n of a kind.
func Object(kind Kind, n int) Value { return mk(tagObject+int(kind), n) }

// Object is the number of an object of the kind; ok is false for anything else.
func (v Value) Object(kind Kind) (n int, ok bool) { return v.n(), v.tag() == tagObject+int(kind) }

// Missing says that there is no value, or None.
func (v Value) Missing() bool { return v.tag() <= tagNone }

// IsList says that v was made as a list or tuple, whatever became of it.
func (v Value) IsList() bool { return v.tag() == tagList }
