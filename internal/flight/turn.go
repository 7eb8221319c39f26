package flight

// InTurn returns a function that calls report for one caller at a time, such as the
// Progress of a job with many goroutines. If report is nil, the function does nothing.
func InTurn[T any](report func(T)) func(T) {
	if report == nil {
		return func(T) {}
	}
	turn := make(chan struct{}, 1) // not a mutex: report may wait for long
	return func(v T) {
		turn <- struct{}{}
		defer func() { <-turn }()
		report(v)
	}
}
