package svchost

// NormaliseIDNA and Normalise let a test compare the parsers for Unicode and for ASCII.
func NormaliseIDNA(name string, lenient bool) (ascii string, ok bool) {
	ascii, reason := normaliseIDNA(name, modeOf(lenient))
	return ascii, reason == ""
}

func Normalise(name string, lenient bool) (ascii string, ok bool) {
	ascii, reason := normalise(name, modeOf(lenient))
	return ascii, reason == ""
}

func modeOf(lenient bool) mode {
	if lenient {
		return wire
	}
	return strict
}
