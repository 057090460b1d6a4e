package interchangefile

// SetSortBytes bounds the lines that a Writer sorts in memory.
func SetSortBytes(w *Writer, n int) { w.order.most = n }
