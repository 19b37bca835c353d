package torchmem

// The opcodes of Python's pickle format, protocols 2 to 5, that plain data needs (Python's documentation of pickletools
// lists them all).
const (
	opMark         = '('
	opStop         = '.'
	opPop          = '0'
	opPopMark      = '1'
	opDup          = '2'
	opBinFloat     = 'G'
	opBinInt       = 'J'
	opBinInt1      = 'K'
	opBinInt2      = 'M'
	opNone         = 'N'
	opBinString    = 'T'
	opShortString  = 'U'
	opBinUnicode   = 'X'
	opAppend       = 'a'
	opAppends      = 'e'
	opDict         = 'd'
	opEmptyDict    = '}'
	opList         = 'l'
	opEmptyList    = ']'
	opSetItem      = 's'
	opSetItems     = 'u'
	opTuple        = 't'
	opEmptyTuple   = ')'
	opBinGet       = 'h'
	opLongBinGet   = 'j'
	opBinPut       = 'q'
	opLongBinPut   = 'r'
	opBinBytes     = 'B'
	opShortBytes   = 'C'
	opProto        = 0x80
	opTuple1       = 0x85
	opTuple2       = 0x86
	opTuple3       = 0x87
	opNewTrue      = 0x88
	opNewFalse     = 0x89
	opLong1        = 0x8a
	opLong4        = 0x8b
	opShortUnicode = 0x8c
	opBinUnicode8  = 0x8d
	opBinBytes8    = 0x8e
	opEmptySet     = 0x8f
	opAddItems     = 0x90
	opFrozenSet    = 0x91
	opMemoize      = 0x94
	opFrame        = 0x95
	opByteArray8   = 0x96
)

// refused are the opcodes that import, call or fetch something. No snapshot needs them, and a file that has one could
// run anything in a reader that obeys it.
var refused = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ",
	0x92: "NEWOBJ_EX", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 'P': "PERSID", 'Q': "BINPERSID",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// textual are the opcodes of protocols 0 and 1, in which no snapshot is written.
var textual = map[byte]string{
	'I': "INT", 'L': "LONG", 'F': "FLOAT", 'S': "STRING", 'V': "UNICODE", 'g': "GET", 'p': "PUT",
}
