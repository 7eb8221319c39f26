package flight

// InTurn returns a function that calls report. Calls never overlap. If report is nil, the function
// does nothing.
func InTurn[T any](report func(T)) func(T) {
	if report == nil {
		return func(T) {}
	}
	turn := make(chan struct{}, 1) // not a mutex: report may block
	return func(v T) {
		turn <- struct{}{}
		defer func() { <-turn }()
		report(v)
	}
}
