"""The guided measurement as a pure reducer: ``step(state, event)`` gives the next state and the effects."""
