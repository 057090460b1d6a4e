package im.rialto.client

import java.nio.file.Files
import java.nio.file.Path
import kotlin.test.Test
import kotlin.test.assertTrue

class ReadmeTest {
    @Test
    fun `the program of the README is the one that the tests run`() {
        val lines = { file: String -> Files.readAllLines(Path.of(file)).map { it.trim() }.filter { it.isNotEmpty() } }
        val readme = lines("../README.md")
        val program = readme.drop(readme.indexOf("```kotlin") + 1).takeWhile { it != "```" }
        val source = lines("src/test/kotlin/im/rialto/client/integration/Sample.kt")
        assertTrue(program.size >= 5 && source.windowed(program.size).any { it == program }, "the README has another program than Sample.kt:\n${program.joinToString("\n")}")
    }
}
