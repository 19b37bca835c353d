package allocator

// A Room is what a trace tells of the memory that its program could have, bytes. A limit of the process
// (set_per_process_memory_fraction) and a card that is full show alike; they differ in what was free on the device.
type Room struct {
	Least   int64 // it had so much: the most that was reserved
	Below   int64 // it had less than this: so much would have been reserved where there was no room for it; 0 where unknown
	Limited bool  // a request failed while enough for it was free on the device: a limit of the process was in force
}

// Room is what the trace tells of the memory that the program could have.
func (q *Requests) Room() Room { return q.room }

// A roomFinder follows the reserved level of a trace and notes where there was no room.
type roomFinder struct {
	reserved int64 // bytes
	back     int64 // bytes given back since the program last asked for something
	room     Room
}

func (f *roomFinder) took(size int64) {
	f.reserved += size
	f.back = 0
	f.room.Least = max(f.room.Least, f.reserved)
}

func (f *roomFinder) gave(size int64) {
	f.reserved -= size
	f.back += size
}

// settle says that what was given back was so for another reason.
func (f *roomFinder) settle() { f.back = 0 }

// refused says that a segment was had only after some were given back.
func (f *roomFinder) refused(segment int64) { f.below(f.reserved + f.back + segment) }

func (f *roomFinder) below(n int64) {
	if f.room.Below == 0 || n < f.room.Below {
		f.room.Below = n
	}
}

// failed says that there was no room for a segment after all that could be given back was, and whether a limit was in force.
func (f *roomFinder) failed(segment int64, limited bool) {
	f.below(f.reserved + segment)
	f.room.Limited = f.room.Limited || limited
}

// found is the room. Where more was reserved once than there was no room for at another time, others took memory
// meanwhile, and there was no one room.
func (f *roomFinder) found() Room {
	if f.room.Below <= f.room.Least {
		f.room.Below = 0
	}
	return f.room
}
