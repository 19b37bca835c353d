package align

// mix is a hash of two numbers (the finalizer of splitmix64).
func mix(h, v uint64) uint64 {
	h ^= v + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
