package tables

import "slices"

// placed are the columns of the iteration and the phase that a row's item lies in, and where these are from.
func placed[T any](place func(*T) (iteration int, path string)) []Column[*Row[T]] {
	return []Column[*Row[T]]{
		iterationOf("iteration", "iteration", func(x *T) int {
			iteration, _ := place(x)
			return iteration
		}),
		optional(Column[*Row[T]]{Key: "phase", Head: "phase", Text: func(r *Row[T]) string {
			_, path := place(r.Item)
			return path
		}}),
		originOf(place),
	}
}

// iterationName is the name of that iteration; empty outside of iterations.
func iterationName[T any](head string, place func(*T) (iteration int, path string)) Column[*Row[T]] {
	return Column[*Row[T]]{Key: "iteration_name", Head: head, Text: func(r *Row[T]) string {
		iteration, _ := place(r.Item)
		if it := r.Track.IterationAt(iteration); it != nil {
			return it.Name
		}
		return ""
	}}
}

// optional is a column of rows that may lack what it shows, for which an empty text or 0 stands.
func optional[R any](c Column[R]) Column[R] {
	if c.Text != nil {
		c.Has = func(r R) bool { return c.Text(r) != "" }
	} else {
		c.Has = func(r R) bool { return c.Int(r) != 0 }
	}
	return c
}

// unknown is a column for which an empty text or 0 stands for what is not known.
func unknown[R any](c Column[R]) Column[R] {
	c = optional(c)
	c.Known, c.Has = c.Has, nil
	return c
}

// barred is a column with bars in workbooks.
func barred[R any](c Column[R]) Column[R] {
	c.Bar = true
	return c
}

// columnsOf are some columns of a catalogue.
func columnsOf[R any](catalogue []Column[R], keys ...string) []Column[R] {
	return slices.DeleteFunc(slices.Clone(catalogue), func(c Column[R]) bool { return !slices.Contains(keys, c.Key) })
}
