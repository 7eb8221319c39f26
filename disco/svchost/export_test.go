package svchost

// ViaIDNA and Normalise let a test compare the general path with the one for ASCII.
func ViaIDNA(name string, lenient bool) (ascii string, ok bool) {
	ascii, reason := viaIDNA(name, modeOf(lenient))
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
