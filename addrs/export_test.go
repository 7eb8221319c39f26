package addrs

// NormalisePart lets a test compare the path for ASCII with the library behind the other one.
func NormalisePart(s string) (part string, ok bool) {
	part, reason := normalisePart(s)
	return part, reason == ""
}
