package throttle

// MaxHosts is how many hosts are remembered while nothing is asked of them.
const MaxHosts = maxHosts

// Hosts returns how many hosts are remembered.
func (t *Transport) Hosts() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.hosts)
}
