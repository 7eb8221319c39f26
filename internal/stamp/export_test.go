package stamp

// Limits of a Memory and of stamps.
const (
	MaxKnown  = maxKnown
	MaxAge    = maxAge
	MaxStamps = maxStamps
	MaxStamp  = maxStamp
)

// Known returns the number of directories in m.
func (m *Memory) Known() int { return len(m.known) }

// Parse parses the file of a stamp.
func Parse(file []byte) error {
	_, err := parse(file)
	return err
}
