package addrs

// NormalisePart exports normalisePart for the comparison with the IDNA library.
func NormalisePart(s string) (part string, ok bool) {
	part, reason := normalisePart(s, false)
	return part, reason == ""
}
